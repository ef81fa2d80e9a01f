#!/bin/bash
# Reading in file order, counted: each object is fetched once if the stored slab fits the budget, each chunk decoded once if the
# decoded slab fits; where neither fits, no more is decoded than keeping planes of all chunks costs.
. "$(dirname "$0")/functions.sh"

size=full
sanitized && size=small
"$python" "$here/counted.py" make "$tmp" $size || exit 1
for layout in slab slab_f cube cube_f pencil shuffled; do
	for memory in 64 256; do
		must_mount "$tmp/$layout.zarr" "memory=${memory}M"
		cat "$mnt/v" >"$tmp/got" || fail "cat of $layout"
		"$python" "$here/counted.py" check "$tmp" $layout $memory "$mnt/.zarrfs/stats" || fail "$layout with memory=${memory}M"
		umount_store
		cmp "$tmp/got" "$tmp/want" || fail "bytes of $layout"
	done
done

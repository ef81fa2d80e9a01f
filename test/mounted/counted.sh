#!/bin/bash
# Reading in file order, counted: each object is fetched once if the stored slab fits the budget, each chunk decoded once if the
# decoded slab fits; where neither fits, no more is decoded than keeping planes of all chunks costs.
. "$(dirname "$0")/functions.sh"

size=full plane=$((4 * 721 * 1440))
sanitized && size=small plane=$((4 * 361 * 480))
"$python" "$here/counted.py" make "$tmp" $size || exit 1

# counted LAYOUT MEMORY: one read in order, with new caches
counted()
{
	local status
	must_mount "$tmp/$1.zarr" "memory=${2}M"
	cat "$mnt/v" >"$tmp/got" || fail "cat of $1"
	"$python" "$here/counted.py" check "$tmp" "$1" "$2" "$mnt/.zarrfs/stats"
	status=$?
	umount_store
	cmp "$tmp/got" "$tmp/want" || fail "bytes of $1"
	return $status
}

# Where other programs hold up a request for so long that others overtake it by megabytes, a chunk may be loaded once more: a
# second and a third try tell such a moment from a fault.
for layout in slab slab_f cube cube_f pencil shuffled; do
	for memory in 64 256; do
		counted $layout $memory || counted $layout $memory || counted $layout $memory || fail "$layout with memory=${memory}M"
	done
done

# A program for each time step: what one has read of a chunk is there for the next
must_mount "$tmp/cube.zarr" memory=1G
for step in {0..9}; do
	dd if="$mnt/v" bs=$plane skip="$step" count=1 status=none || fail "step $step"
done | cmp - "$tmp/want" -n $((10 * plane)) || fail "bytes of steps"
chunks=$(find "$tmp/cube.zarr/v" -name '[0-9]*' | wc -l)
[ "$(stat_value chunk_decodes_total)" -le "$chunks" ] || fail "ten time steps decode $(stat_value chunk_decodes_total) chunks of $chunks"
umount_store

# One grid point at all times: a chunk of one compressed block is decoded from its beginning for every part of it
must_mount "$tmp/cube.zarr" memory=1G
"$python" -c '
import os, sys
plane, files = int(sys.argv[3]), [os.open(name, os.O_RDONLY) for name in sys.argv[1:3]]
points = [[os.pread(file, 4, at) for at in range(plane // 2, os.fstat(file).st_size, plane)] for file in files]
sys.exit(points[0] != points[1])' "$mnt/v" "$tmp/want" $plane || fail "a time series"
met=$(find "$tmp/cube.zarr/v" -name '*.3.*' | wc -l)
[ "$(stat_value chunk_decodes_total)" -le $((10 * met)) ] || fail "a time series decodes $(stat_value chunk_decodes_total) parts of $met chunks"
echo "a time series decoded $(stat_value chunk_decodes_total) parts of $met chunks"

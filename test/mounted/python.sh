#!/bin/bash
# numpy.memmap, open + seek + read, and mmap shared and private, as Python programs use them.
. "$(dirname "$0")/functions.sh"

"$python" "$here/tools.py" make "$tmp/store.zarr" "$tmp/want" || exit 1
for way in memmap seek shared; do
	must_mount "$tmp/store.zarr"
	"$python" "$here/tools.py" $way "$mnt" "$tmp/want" || fail "$way"
	umount_store
done

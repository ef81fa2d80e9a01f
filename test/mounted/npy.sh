#!/bin/bash
# VAR.npy: numpy.load, mapped or not, gives the shape, the type and the values that zarr-python has.
. "$(dirname "$0")/functions.sh"

"$python" "$here/npy.py" make "$tmp/store.zarr" || exit 1
for endian in native big little stored; do
	must_mount "$tmp/store.zarr" "endian=$endian"
	"$python" "$here/npy.py" check "$tmp/store.zarr" "$mnt" $endian || fail "endian=$endian"
	[ -e "$mnt/json.npy" ] && fail "what has no flat form has an .npy"
	umount_store
done
# a single array, and what is listed
must_mount "$tmp/store.zarr/f4" list=npy
same "the list" "$(ls "$mnt")" f4.npy
cmp <(tail -c +4097 "$mnt/f4.npy") "$mnt/f4" || fail "the bytes behind the header differ"
exit $((failures != 0))

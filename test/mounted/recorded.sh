#!/bin/bash
# Arrays as zarr-python 3 wrote them, with what it reads of them: the same through a mount, and once more when a mount has written them.
. "$(dirname "$0")/functions.sh"

recorded()
{
	"$python" "$here/recorded.py" "$@"
}

recorded make "$tmp/store" || exit 1
must_mount "$tmp/store" endian=little
recorded check "$mnt" || fail "recorded arrays differ"
umount_store

recorded empty "$tmp/empty" || exit 1
must_mount "$tmp/empty" rw,endian=little
recorded write "$mnt" || fail "writing"
umount_store
must_mount "$tmp/empty" endian=little
recorded written "$mnt" || fail "written arrays differ"
umount_store
exit $((failures != 0))

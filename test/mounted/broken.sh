#!/bin/bash
# What must not be shown as data gives EIO, and the log names the cause; everything beside it reads as if nothing were wrong.
. "$(dirname "$0")/functions.sh"

"$python" "$here/broken.py" make "$tmp/store.zarr" || exit 1
must_mount "$tmp/store.zarr" endian=little
"$python" "$here/broken.py" check "$mnt" || fail "see above"
umount_store
must_mount "$tmp/store.zarr" endian=little,memory=64M
ls -lR "$mnt" >"$tmp/list" 2>&1 || fail "ls -lR: $(cat "$tmp/list")"

#!/bin/bash
# A daemon under kill -9 leaves a mount point that can be unmounted, or mounted over as if nothing had happened.
. "$(dirname "$0")/functions.sh"

"$python" "$here/tools.py" make "$tmp/store.zarr" "$tmp/want" || exit 1

must_mount "$tmp/store.zarr"
head -c 100 "$mnt/big" >/dev/null
kill_daemon
ls "$mnt" 2>/dev/null && fail "ls of a dead mount lists something"
timeout 60 umount "$mnt" 2>/dev/null || timeout 60 fusermount3 -u "$mnt" || fail "a dead mount cannot be unmounted"

must_mount "$tmp/store.zarr"
exec 3<"$mnt/big" # this shell still holds a file of it
kill_daemon
"$ZARRFS" "$tmp/store.zarr" "$mnt" 2>"$tmp/said" || fail "cannot mount over a dead mount: $(cat "$tmp/said")"
grep -q . "$tmp/said" || fail "nothing was said about the dead mount that was replaced"
cmp "$mnt/big" "$tmp/want/big" || fail "bytes after mounting over a dead mount"
exec 3<&-
unmount "$mnt" || fail "cannot unmount again"
eventually 60 test ! -e "$mnt/big" || fail "still mounted"

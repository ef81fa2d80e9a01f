#!/bin/bash
# What grows with `-o unlimited=` where another writer's edits make arrays that share the dimension unequal for a moment; a coarser array with
# a dimension of the same name has its own length.
. "$(dirname "$0")/functions.sh"

"$python" -c 'import numpy, numcodecs' 2>/dev/null || skip "no numpy or numcodecs for $python"
"$python" "$here/write_sharers.py" make "$tmp/s.zarr" || exit 1
must_mount "$tmp/s.zarr" rw,unlimited=time
first=$mnt
must_mount "$tmp/s.zarr" rw,unlimited=time
"$python" "$here/write_sharers.py" run "$tmp/s.zarr" "$first" "$mnt" || fail "$(tail -n 3 "$first.log" "$log")"
umount_store "$first"
umount_store
"$python" "$here/write_sharers.py" make-others "$tmp/others.zarr" || exit 1
must_mount "$tmp/others.zarr" rw,unlimited=time,timeout=4
"$python" "$here/write_sharers.py" run-others "$tmp/others.zarr" "$mnt" || fail "$(tail -n 3 "$log")"
umount_store

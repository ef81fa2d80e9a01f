#!/bin/bash
# Records with missing values that netCDF4-python appends: while memory is short, beside padding that is not fill, and to records that others have made.
. "$(dirname "$0")/functions.sh"

"$python" -c "import netCDF4" 2>/dev/null || skip "no netCDF4 for $python"
for name in large edges; do
	"$python" "$here/write_masked.py" make "$tmp/$name" || exit 1
done
must_mount "$tmp/large" rw,unlimited=time,memory=32M
"$python" "$here/write_masked.py" large "$mnt" || fail "$(tail -n 3 "$log")"
umount_store
must_mount "$tmp/large" "" # as it is stored
"$python" "$here/write_masked.py" check "$mnt" || fail "what is stored"
umount_store
must_mount "$tmp/edges" rw,unlimited=time
first=$mnt
must_mount "$tmp/edges" rw,unlimited=time
"$python" "$here/write_masked.py" edges "$first" "$mnt" "$tmp/edges" || fail "$(tail -n 3 "$first.log" "$log")"
umount_store "$first"
umount_store

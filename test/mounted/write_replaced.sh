#!/bin/bash
# An array that another writer replaces by one of another type, rank or of other rows, while a program has it open: another program writes to the new one, by its rows.
. "$(dirname "$0")/functions.sh"

"$python" -c 'import numpy, numcodecs' 2>/dev/null || skip "no numpy or numcodecs for $python"
"$python" "$here/write_replaced.py" make "$tmp/s.zarr" || exit 1
must_mount "$tmp/s.zarr" rw,unlimited=time,endian=little
timeout -s KILL 300 "$python" "$here/write_replaced.py" run "$tmp/s.zarr" "$mnt" || fail "see above"

#!/bin/bash
# Rows that come and go beside what is written and not stored yet: in shards behind another codec, of a variable that shares the dimension, and
# of which an element was written in part.
. "$(dirname "$0")/functions.sh"

"$python" -c 'import numpy, numcodecs' 2>/dev/null || skip "no numpy or numcodecs for $python"
"$python" "$here/write_rows.py" make "$tmp/s.zarr" || exit 1
must_mount "$tmp/s.zarr" rw,unlimited=time
"$python" "$here/write_rows.py" run "$mnt" "$tmp/want" || fail "$(tail -n 3 "$log")"
umount_store
must_mount "$tmp/s.zarr"
for name in a b c; do
	cmp "$mnt/$name" "$tmp/want/$name" || fail "what is stored of $name"
done
umount_store

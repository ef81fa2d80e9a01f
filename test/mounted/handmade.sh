#!/bin/bash
# Arrays as writers in the wild store them, written by hand: every spelling of .zarray, fill value, dtype and shape, elements of variable
# length; each shows the bytes that it means, or EIO.
. "$(dirname "$0")/functions.sh"

"$python" "$here/handmade.py" make "$tmp/arrays" || exit 1
for endian in little big; do
	must_mount "$tmp/arrays" endian=$endian
	"$python" "$here/handmade.py" "$endian" "$mnt" || fail "see above (endian=$endian)"
	umount_store
done
must_mount "$tmp/arrays" strlen=200
long=("$mnt"/*"too large to measure, longer than strlen")
same "bytes of texts with strlen=200" "$(wc -c <"${long[0]}")" $((60001 * 200))
umount_store

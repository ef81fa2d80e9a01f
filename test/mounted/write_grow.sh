#!/bin/bash
# A leading unlimited dimension grows by what is written behind its end, by truncate and by cp, with all that share it: in NCZarr, and in a
# store without its metadata by option.
. "$(dirname "$0")/functions.sh"

needs ncdump
"$python" -c 'import zarr' 2>/dev/null || skip "no zarr-python"
"$python" "$here/write_grow.py" make "$tmp/s" || exit 1
groups=(nc pure)
[ "${STORES_FORM:-v2}" = v2 ] || groups=(pure)
for group in "${groups[@]}"; do
	must_mount "$tmp/s/$group" "rw$([ "$group" = nc ] || echo ,unlimited=time)"
	"$python" "$here/write_grow.py" run "$tmp/s/$group" "$mnt" || fail "$group: $(tail -n 3 "$log")"
	dd if=/dev/zero of="$mnt/c" bs=200 seek=1 count=1 conv=notrunc status=none 2>/dev/null && fail "$group: c grew"
	umount_store
done
must_mount "$tmp/s/pure" rw
dd if=/dev/zero of="$mnt/a" bs=200 count=1 oflag=append conv=notrunc status=none 2>/dev/null && fail "a dimension grew that is not unlimited"
umount_store

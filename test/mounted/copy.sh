#!/bin/bash
# cp, tar, rsync, cmp and dd with odd sizes: a mount is copied like any disk.
. "$(dirname "$0")/functions.sh"
needs rsync tar

"$python" "$here/tools.py" make "$tmp/store.zarr" "$tmp/want" || exit 1
must_mount "$tmp/store.zarr" list=flat

diff -r "$mnt" "$tmp/want" || fail "diff -r"
cp -r "$mnt" "$tmp/copied"
diff -r "$tmp/copied" "$tmp/want" || fail "cp -r"
mkdir "$tmp/unpacked"
tar -C "$mnt" -cf - . | tar -C "$tmp/unpacked" -xf - || fail "tar says something is wrong"
diff -r "$tmp/unpacked" "$tmp/want" || fail "tar"
rsync -a "$mnt/" "$tmp/synced" || fail "rsync says something is wrong"
diff -r "$tmp/synced" "$tmp/want" || fail "rsync"
same "what a second rsync copies" "$(rsync -ai "$mnt/" "$tmp/synced")" ""
rsync -aX "$mnt/" "$tmp/synced-with-attributes" || fail "rsync -X"
same "du and ls agree" "$(du -b --apparent-size "$mnt/big" | cut -f1)" "$(stat -c %s "$tmp/want/big")"

for file in t2m big ocean/salt; do
	for size in 1009 4096 65537 1000003; do
		same "dd bs=$size of $file" "$(dd if="$mnt/$file" bs=$size 2>/dev/null | sha256sum)" "$(sha256sum <"$tmp/want/$file")"
	done
	same "dd from the middle of $file" "$(dd if="$mnt/$file" bs=777 skip=11 count=101 2>/dev/null | sha256sum)" \
		"$(dd if="$tmp/want/$file" bs=777 skip=11 count=101 2>/dev/null | sha256sum)"
	same "dd around the page cache, $file" "$(dd if="$mnt/$file" bs=64k iflag=direct 2>/dev/null | sha256sum)" \
		"$(sha256sum <"$tmp/want/$file")"
done

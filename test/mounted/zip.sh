#!/bin/bash
# Zip archives show the files that the directory they are of shows, whichever program wrote them; a big one is mounted at once; one that is
# replaced gives the new bytes or errors; those above stores are plain files.
. "$(dirname "$0")/functions.sh"
needs zip

"$python" "$here/zip.py" make "$tmp" || exit 1

sums()
{
	(cd "$1" && find . -type f | sort | xargs -d '\n' sha256sum)
}

must_mount "$tmp/x.zarr"
want=$(sums "$mnt")
same "files of the directory" "$(wc -l <<<"$want")" "$(find "$mnt" -type f | wc -l)"
for archive in zarr-python stored deflated zip64 tool tool-prefix tool-stored self-extracting; do
	must_mount "$tmp/$archive.zip"
	same "what $archive.zip shows" "$(sums "$mnt")" "$want"
	umount_store
done

# what netcdf-c wrote
corpus=${ZARRFS_CORPUS:-none}
for archive in "$corpus"/nczarr-corpus/*.zip "$corpus"/nczarr-corpus/zt/*.zip; do
	[ -f "$archive" ] || continue
	rm -rf "$tmp/unpacked"
	mkdir "$tmp/unpacked"
	"$python" -m zipfile -e "$archive" "$tmp/unpacked" || fail "cannot unpack '$archive'"
	top=$tmp/unpacked
	[ -e "$top/.zgroup" ] || top=$(echo "$top"/*)
	must_mount "$top"
	first=$mnt
	must_mount "$archive"
	same "what $archive shows" "$(sums "$mnt")" "$(sums "$first")"
	umount_store "$mnt"
	umount_store "$first"
done

# a part of a deflated member, by the names that the archive has
must_mount "$tmp/tool-prefix.zip"
same "a stored object" "$(tail -c +5001 "$mnt/.store/x.zarr/big/0" | head -c 3000 | sha256sum)" \
	"$(tail -c +5001 "$tmp/x.zarr/big/0" | head -c 3000 | sha256sum)"
same "a stored object, whole" "$(sha256sum <"$mnt/.store/big/0")" "$(sha256sum <"$tmp/x.zarr/big/0")"
same "below the prefix" "$(sha256sum <"$mnt/x.zarr/lz4")" "$(sha256sum <"$mnt/lz4")"
umount_store

# above stores
mkdir "$tmp/above"
cp "$tmp/tool.zip" "$tmp/above/x.zarr.zip"
cp -r "$tmp/x.zarr" "$tmp/above"
must_mount "$tmp/above"
same "an archive above stores" "$(sha256sum <"$mnt/x.zarr.zip")" "$(sha256sum <"$tmp/tool.zip")"
same "what lies there" "$(ls -F "$mnt")" "x.zarr/
x.zarr.zip"
umount_store

# very many members
"$python" "$here/zip.py" many "$tmp/many.zip" || exit 1
begin=$(date +%s%N)
must_mount "$tmp/many.zip"
ls "$mnt" >/dev/null
took=$((($(date +%s%N) - begin) / 1000000))
busy=$(awk -v tick="$(getconf CLK_TCK)" '{ print int(1000 * ($14 + $15) / tick) }' "/proc/$daemon/stat")
echo "100,000 members: mounted and listed in $took ms, of which $busy busy, $(peak_memory) KiB at most"
if ! sanitized; then
	[ "$busy" -lt 500 ] || fail "100,000 members took $busy ms of the processor"
	[ "$(peak_memory)" -lt $((80 << 10)) ] || fail "100,000 members took $(peak_memory) KiB"
fi
same "the sum of one array" "$(od -A n -t d4 -v -w4 "$mnt/a3" | awk '{s += $1} END {print s}')" $((9998 * 9999 / 2))
umount_store

# replaced while it is mounted: never two versions in one read
"$python" "$here/zip.py" replace "$tmp/r.zip" 1 || exit 1
must_mount "$tmp/r.zip" metadata_ttl=1
same "before" "$(od -A n -t d4 -v -w4 "$mnt/v" | sort -u | xargs)" 1
"$python" "$here/zip.py" replace "$tmp/r.zip" 2 || exit 1
# shellcheck disable=SC2317 # called by eventually
is_two()
{
	[ "$(od -A n -t d4 -v -w4 "$mnt/v" | sort -u | xargs)" = 2 ]
}
eventually 60 is_two || fail "the replaced archive does not show"
for n in 3 4 5 6; do
	"$python" "$here/zip.py" replace "$tmp/r.zip" $n || exit 1
	got=$(head -c 40000 "$mnt/v" 2>/dev/null | od -A n -t d4 -v -w4 | sort -u | wc -l)
	[ "$got" -le 1 ] || fail "$got versions in one chunk"
done
rm "$tmp/r.zip"
# shellcheck disable=SC2317 # called by eventually
is_gone()
{
	! cat "$mnt/v" >/dev/null 2>&1
}
eventually 60 is_gone || fail "an archive that is gone still gives data"
umount_store

# what cannot be mounted is told
refused()
{
	local said
	said=$("$ZARRFS" --ls "$1" 2>&1) && fail "'$1' is shown"
	grep -q "$2" <<<"$said" || fail "the message for '$1' is '$said', without '$2'"
}
head -c 20000 "$tmp/tool.zip" >"$tmp/cut.zip"
refused "$tmp/cut.zip" "cut short"
echo "not a zip file" >"$tmp/text.zip"
refused "$tmp/text.zip" "no zip archive"
refused "$tmp/none.zip" "no such file"
(cd "$tmp/x.zarr" && zip -q -r -P secret "$tmp/encrypted.zip" .)
refused "$tmp/encrypted.zip" "encrypted"
exit $((failures != 0))

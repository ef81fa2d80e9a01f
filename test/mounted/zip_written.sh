#!/bin/bash
# Zip archives of any program that are written: members that are not written stay as they were; after any fault each member is whole.
. "$(dirname "$0")/functions.sh"
keys=${ZARRFS_KEYS:-$here/../../build/test/tools/keys}

"$python" "$here/zip_written.py" make "$tmp" || exit 1
printf 'new bytes' >"$tmp/bytes"
printf 'more' >"$tmp/more"
printf 'x%.0s' {1..100000} >"$tmp/long"
printf 'first' >"$tmp/first"

for archive in stored deflated zip64 prefix streamed streamed64 twice odd stub; do
	cp "$tmp/$archive.zip" "$tmp/$archive.zip.orig"
	"$keys" "$tmp/$archive.zip" try put v/0 "$tmp/first" del v/1 sync put v/0 "$tmp/bytes" put v/2 "$tmp/more" del w/only new n/new/x "$tmp/long" >"$tmp/said" 2>&1 || fail "$archive: $(cat "$tmp/said")"
	"$python" "$here/zip_written.py" check "$tmp" $archive || fail "$archive is not what it should be"
	same "$archive: version of what stays" "$("$keys" "$tmp/$archive.zip" version .zgroup put v/0 "$tmp/first" sync version .zgroup | uniq | wc -l)" 1
	same "$archive: version of what is put" "$("$keys" "$tmp/$archive.zip" put v/0 "$tmp/more" version v/0 sync version v/0 | uniq | wc -l)" 1
	must_mount "$tmp/$archive.zip" # it is an archive for libzip, too
	umount_store
done
same "left beside them" "$(find "$tmp" -maxdepth 1 -name '.zarrfs-*' | wc -l)" 0

# through a link, with owner and mode
mkdir "$tmp/elsewhere"
cp "$tmp/stored.zip.orig" "$tmp/elsewhere/real.zip"
chmod 640 "$tmp/elsewhere/real.zip"
ln -s elsewhere/real.zip "$tmp/link.zip"
"$keys" "$tmp/link.zip" try put v/0 "$tmp/bytes" || fail "through a link"
[ -L "$tmp/link.zip" ] || fail "the link is no link any more"
same "mode" "$(stat -c %a "$tmp/elsewhere/real.zip")" 640
same "bytes through a link" "$("$keys" "$tmp/elsewhere/real.zip" get v/0)" "new bytes"

# one writer at a time, also after it made a new archive
cp "$tmp/stored.zip.orig" "$tmp/x.zip"
"$keys" "$tmp/x.zip" put v/0 "$tmp/first" sync put v/0 "$tmp/bytes" wait "$tmp/go" sync >"$tmp/waits" &
writer=$!
eventually 60 grep -q waiting "$tmp/waits" || fail "nothing was put" # until then another that asks for the archive may be its writer
same "what was synced, as others read it" "$("$keys" "$tmp/x.zip" get v/0)" first
"$keys" "$tmp/x.zip" try >"$tmp/said" 2>&1 && fail "a second writer is not refused"
grep -q 'another zarrfs writes it' "$tmp/said" || fail "a second writer is told '$(cat "$tmp/said")'"
touch "$tmp/go"
wait $writer || fail "the first writer"
same "after the first writer" "$("$keys" "$tmp/x.zip" try get v/0)" "new bytes"

# another program's archive is never overwritten
cp "$tmp/deflated.zip.orig" "$tmp/untouched.zip"
for how in mv cat; do
	cp "$tmp/stored.zip.orig" "$tmp/y.zip"
	cp "$tmp/deflated.zip.orig" "$tmp/other.zip"
	rm -f "$tmp/go" "$tmp/said"
	"$keys" "$tmp/y.zip" put v/0 "$tmp/bytes" wait "$tmp/go" sync put v/1 "$tmp/more" sync >"$tmp/said" 2>&1 &
	writer=$!
	eventually 60 grep -q waiting "$tmp/said" || fail "$how: nothing was put"
	if [ $how = mv ]; then mv "$tmp/other.zip" "$tmp/y.zip"; else cat "$tmp/other.zip" >"$tmp/y.zip"; fi
	touch "$tmp/go"
	wait $writer && fail "$how: that the archive is another program's is not said"
	same "$how: what is said" "$(grep -c 'was changed by another program' "$tmp/said")" 1
	same "$how: v/1" "$("$keys" "$tmp/y.zip" get v/1)" "more"
	cmp <("$keys" "$tmp/y.zip" get v/0) <("$keys" "$tmp/untouched.zip" get v/0) || fail "$how: v/0 is not the other program's"
done

# what cannot be
cp "$tmp/stored.zip.orig" "$tmp/z.zip"
(ulimit -f 40; trap '' XFSZ; "$keys" "$tmp/z.zip" put v/1 "$tmp/long" put v/2 "$tmp/more" sync) >"$tmp/said" 2>&1 && fail "a full disk is not told"
grep -q 'File too large' "$tmp/said" || fail "a full disk: '$(cat "$tmp/said")'"
(ulimit -f 12; trap '' XFSZ; "$keys" "$tmp/z.zip" put v/2 "$tmp/more" sync) >"$tmp/said" 2>&1 && fail "a full disk is not told by sync"
grep -q 'new archive: File too large' "$tmp/said" || fail "a full disk at sync: '$(cat "$tmp/said")'"
cmp "$tmp/z.zip" "$tmp/stored.zip.orig" || fail "an archive was changed on a full disk"

# killed at any moment: the archive is the one before or the one after
for i in 1 2 3 4 5 6 7 8; do
	"$keys" "$tmp/z.zip" rewrite v/1 1000 >"$tmp/letters" &
	writer=$!
	sleep "0.$((i * 3 % 5))$i"
	kill -9 $writer
	wait $writer 2>/dev/null
	"$keys" "$tmp/z.zip" get v/1 >"$tmp/got" || fail "killed: it cannot be read"
	last=$(tail -c 2 "$tmp/letters" | head -c 1)
	one=$(head -c 1 "$tmp/got")
	[ -z "$last" ] || [ "$(tr -d "$one" <"$tmp/got" | wc -c)" = 0 ] || fail "killed: not of one letter"
	next=$(tr abcdefghijklmnopqrstuvwxyz bcdefghijklmnopqrstuvwxyza <<<"$last")
	[ -z "$last" ] || [ "$one" = "$last" ] || [ "$one" = "$next" ] || fail "killed: '$one' is there, where '$last' was synced"
done
find "$tmp" -maxdepth 1 -name '.zarrfs-put-*' -exec touch -d '2 days ago' {} +
"$keys" "$tmp/z.zip" try || fail "it cannot be written after that"
same "left by the killed" "$(find "$tmp" -maxdepth 1 -name '.zarrfs-*' | wc -l)" 0

# rows that are cut off are not there when others that share the dimension make it longer again
"$python" - "$tmp/cut.zip" <<'EOF' || exit 1
import json, sys, zipfile
with zipfile.ZipFile(sys.argv[1], "w") as z:
    z.writestr(".zgroup", '{"zarr_format": 2}')
    for name in "ab":
        z.writestr(name + "/.zattrs", '{"_ARRAY_DIMENSIONS": ["time"]}')
        z.writestr(name + "/.zarray", json.dumps({"zarr_format": 2, "shape": [7], "chunks": [4], "dtype": "|u1", "compressor": None, "order": "C", "filters": None, "fill_value": 9}))
        z.writestr(name + "/0", bytes([1, 2, 3, 4]))
        z.writestr(name + "/1", bytes([5, 6, 7, 9]))
EOF
must_mount "$tmp/cut.zip" rw,unlimited=time
{ truncate -s 2 "$mnt/a" && truncate -s 7 "$mnt/a"; } || fail "an array of an archive cannot be cut and made longer"
for name in a b; do
	same "$name, cut and longer" "$(od -An -tu1 "$mnt/$name" | xargs)" "1 2 9 9 9 9 9"
done
umount_store

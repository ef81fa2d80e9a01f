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

# rows of chunks that a writer left behind the end: fill, if that was more than a day ago, in the variable that grows and in those that share its rows
for days in 2 0; do
	put_left "$tmp/old$days" 5 $days
	must_mount "$tmp/old$days" rw,unlimited=time
	printf 'xy' | dd of="$mnt/a" bs=2 seek=19 conv=notrunc status=none || fail "a: cannot be written"
	for name in a b s; do
		same "$name, rows that came, $days days" "$(tail -c 30 "$mnt/$name" | head -c 28 | od -An -v -tu1 | xargs -n 1 | sort -u | xargs)" $((days ? 7 : 32))
	done
	umount_store
done

# row by row: an object that was old is new once its first row is stored, and what lies behind that is no row either
for rows in 5 8; do
	put_left "$tmp/by$rows" $rows 2
	must_mount "$tmp/by$rows" rw,unlimited=time
	for row in $((rows + 1)) $((rows + 2)); do
		printf 'xy' | dd of="$mnt/a" bs=2 seek=$row conv=notrunc status=none || fail "a: row $row cannot be written"
		sync -f "$mnt/a"
	done
	for name in b s; do
		same "$name, row by row from $rows" "$(tail -c 6 "$mnt/$name" | od -An -v -tu1 | xargs)" "7 7 7 7 7 7"
	done
	umount_store
done

# the same where rows are appended one behind the other, and the file is made longer then
for rows in 5 8; do
	put_left "$tmp/on$rows" $rows 2
	[ $rows = 8 ] || touch -d '3 hours ago' "$tmp/on$rows"/a/c/*/*
	must_mount "$tmp/on$rows" rw,unlimited=time
	for name in a s; do
		printf 'xy' >>"$mnt/$name" || fail "$name: cannot be appended to"
		umount_store
		must_mount "$tmp/on$rows" rw,unlimited=time
		truncate -s $((2 * rows + 6)) "$mnt/$name"
		same "$name, appended to $rows" "$(tail -c 4 "$mnt/$name" | od -An -v -tu1 | xargs)" "7 7 7 7"
		truncate -s $((2 * rows)) "$mnt/$name"
	done
	umount_store
done

# the same where the next row is fill, and one behind it is not
while read -r var object row; do
	put_left "$tmp/far$var" 5 2
	printf '\7\7\7\7' | dd of="$tmp/far$var/$var/$object" bs=2 seek="$row" conv=notrunc status=none
	touch -d '2 days ago' "$tmp/far$var/$var/$object"
	must_mount "$tmp/far$var" rw,unlimited=time
	printf 'xy' >>"$mnt/$var" || fail "$var: cannot be appended to"
	umount_store
	must_mount "$tmp/far$var" rw,unlimited=time
	truncate -s 16 "$mnt/$var"
	same "$var, appended to before fill" "$(tail -c 6 "$mnt/$var" | od -An -v -tu1 | xargs)" "120 121 7 7 7 7"
	umount_store
done <<<$'a c/1/0 1\ns c/0/0 5'

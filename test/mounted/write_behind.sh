#!/bin/bash
# Chunks of a bucket that a broken writer left behind the end more than a day ago are no rows, whatever grows over them; younger ones are.
. "$(dirname "$0")/functions.sh"
. "$here/s3_functions.sh"

"$python" -c 'import numpy, numcodecs' 2>/dev/null || skip "no numpy or numcodecs for $python"
clock=$(find /usr/lib -name libfaketimeMT.so.1 2>/dev/null | head -n 1)
if [ -z "$clock" ] || sanitized; then
	skip "no clock that can be put forward"
fi
begin_radosgw
s3 make bucket
begin_proxy
for rows in 5 8; do
	put_left "$tmp/left$rows" $rows 0
	for n in 0 1 2 3 4; do
		s3 put "$tmp/left$rows" "bucket/left$rows.$n"
	done
done

# later DAYS STORE: mounted by a daemon whose clock is ahead
later()
{
	LD_PRELOAD=$clock DONT_FAKE_MONOTONIC=1 FAKETIME=+$1d must_mount "s3://bucket/$2" rw,unlimited=time
}

# rest NAME SKIP WANT WHY: the file's bytes from SKIP on, each once
rest()
{
	same "$1, $4" "$(tail -c +$(($2 + 1)) "$mnt/$1" | od -An -v -tu1 | xargs -n 1 | sort -u | xargs)" "$3"
}

for rows in 5 8; do
	end=$((2 * rows))

	# the file is made longer, over whole chunks and parts of them
	for days in 2 0; do
		later $days left$rows.$days
		truncate -s 36 "$mnt/a" || fail "a cannot be made longer"
		for name in a b d s; do
			rest $name $end $((days ? 7 : 32)) "longer than $rows rows after $days days"
		done
		umount_store
	done

	# a row in the midst of what is there, then longer by another mount, for which the object is young
	for n in 1 3; do
		row=$((n == 1 ? rows : rows + 5))
		later 2 left$rows.$n
		for name in a d s; do
			printf 'xy' | dd of="$mnt/$name" bs=2 seek=$row conv=notrunc status=none || fail "$name cannot be written"
		done
		umount_store
		later 0 left$rows.$n
		truncate -s $(((row / 4 + 1) * 8)) "$mnt/a"
		for name in a d s; do
			rest $name $end "120 121 7" "written to behind $rows rows"
		done
		umount_store
	done

	# a row that is there is written, then longer by another mount
	later 2 left$rows.4
	printf 'xy' | dd of="$mnt/s" bs=2 conv=notrunc status=none
	printf 'xy' | dd of="$mnt/a" bs=2 seek=4 conv=notrunc status=none
	umount_store
	later 0 left$rows.4
	truncate -s 16 "$mnt/a"
	for name in a s; do
		[ $rows = 8 ] || rest $name $end 7 "written to within $rows rows"
	done
	umount_store
done

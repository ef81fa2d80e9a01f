#!/bin/bash
# A second read of a file that did not change asks the daemon for nothing.
. "$(dirname "$0")/functions.sh"

# A kernel may let go of pages at any moment, and some do so without need, to give memory back to their host. So one pass of a
# few in which all were kept shows that the daemon kept them.
PASSES=8

# reads: READ requests so far, less those for looking here
looks=0
reads()
{
	looks=$((looks + 1))
	reads=$(($(stat_value 'fuse_requests_total{op="read"}') - looks * each))
}

# read_again FILE: sets $asked, the READ requests of reading it again
read_again()
{
	reads
	asked=$reads
	cmp "$mnt/$1" "$tmp/want/$1" || fail "second read of $1"
	"$python" -c 'import sys, numpy; print(numpy.memmap(sys.argv[1], "u1", "r").sum())' "$mnt/$1" >/dev/null
	reads
	asked=$((reads - asked))
}

"$python" "$here/tools.py" make "$tmp/store.zarr" "$tmp/want" || exit 1
must_mount "$tmp/store.zarr"
first=$(stat_value 'fuse_requests_total{op="read"}')
each=$(($(stat_value 'fuse_requests_total{op="read"}') - first))
[ "$each" -gt 0 ] || fail "READ requests are not counted"
for file in big t2m ocean/salt; do
	cmp "$mnt/$file" "$tmp/want/$file" || fail "first read of $file"
	for ((pass = 0; pass < PASSES; pass++)); do
		read_again "$file"
		[ "$asked" != 0 ] || break
	done
	same "READ requests of a second read of $file" "$asked" 0
done

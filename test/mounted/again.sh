#!/bin/bash
# A second read of a file that did not change asks the daemon for nothing.
. "$(dirname "$0")/functions.sh"

# reads: READ requests so far, less those for looking here
looks=0
reads()
{
	looks=$((looks + 1))
	reads=$(($(stat_value 'fuse_requests_total{op="read"}') - looks * each))
}

"$python" "$here/tools.py" make "$tmp/store.zarr" "$tmp/want" || exit 1
must_mount "$tmp/store.zarr"
first=$(stat_value 'fuse_requests_total{op="read"}')
each=$(($(stat_value 'fuse_requests_total{op="read"}') - first))
[ "$each" -gt 0 ] || fail "READ requests are not counted"
for file in big t2m ocean/salt; do
	cmp "$mnt/$file" "$tmp/want/$file" || fail "first read of $file"
	reads
	before=$reads
	cmp "$mnt/$file" "$tmp/want/$file" || fail "second read of $file"
	"$python" -c 'import sys, numpy; print(numpy.memmap(sys.argv[1], "u1", "r").sum())' "$mnt/$file" >/dev/null
	reads
	same "READ requests of a second read of $file" $((reads - before)) 0
done

#!/bin/bash
# A second read of a file that did not change asks the daemon for nothing.
. "$(dirname "$0")/functions.sh"

"$python" "$here/tools.py" make "$tmp/store.zarr" "$tmp/want" || exit 1
must_mount "$tmp/store.zarr"
for file in big t2m ocean/salt; do
	cmp "$mnt/$file" "$tmp/want/$file" || fail "first read of $file"
	before=$(stat_value fuse_read_total)
	cmp "$mnt/$file" "$tmp/want/$file" || fail "second read of $file"
	"$python" -c 'import sys, numpy; print(numpy.memmap(sys.argv[1], "u1", "r").sum())' "$mnt/$file" >/dev/null
	[ -n "$before" ] || fail "READ requests are not counted"
	same "READ requests of a second read of $file" $(($(stat_value fuse_read_total) - before)) 0
done

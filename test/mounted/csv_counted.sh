#!/bin/bash
# What a part of a CSV costs, counted: head and tail of a variable of 5 TB fetch no more than the chunks they show, and a line from
# the middle of one with coordinates fetches its chunk and the coordinates once.
. "$(dirname "$0")/functions.sh"

"$python" - "$tmp/store.zarr" <<'END' || exit 1
import sys
import numpy as np
import zarr
g = zarr.open_group(zarr.DirectoryStore(sys.argv[1]), "w")
huge = g.create_dataset("huge", shape=(1000000, 1000, 1250), chunks=(1, 1000, 1250), dtype="f4", fill_value=1.5)
huge[0, :, :] = 0.25
huge[999999, :, :] = 2.5
huge.attrs["_ARRAY_DIMENSIONS"] = ["time", "y", "x"]
time = g.create_dataset("time", shape=1000000, chunks=100000, dtype="i4", fill_value=0)
time[:] = np.arange(1000000)
time.attrs.update({"_ARRAY_DIMENSIONS": ["time"], "units": "hours since 1900-01-01"})
END
must_mount "$tmp/store.zarr"
file=$mnt/huge.csv

# costs WHAT MOST: decoded chunks since the last call
decoded=0
costs()
{
	local now
	now=$(stat_value chunk_decodes_total)
	[ $((now - decoded)) -le "$2" ] || fail "$1 decodes $((now - decoded)) chunks, more than $2"
	decoded=$now
}

size=$(stat -c %s "$file")
[ "$size" -gt 70000000000000 ] || fail "it has only $size bytes"
costs "stat" 0
same "head" "$(head -n 3 "$file" | tail -n 1 | tr -d ' ')" "1,1900-01-01T00:00:00,0,1,0.25"
costs "head" 12 # the chunk, and all ten of time
same "tail" "$(tail -c 200 "$file" | tail -n 1 | tr -d ' ')" "1249999999999,2014-01-29T15:00:00,999,1249,2.5"
costs "tail" 3
same "the middle" "$(dd if="$file" bs=1 skip=$((size / 2)) count=300 status=none | sed -n 2p |
	awk -F, '{ print ($3 == int($1 / 1250) % 1000 && $4 == $1 % 1250) "<" $5 ">" }')" "1<>"
costs "the middle, where there is no chunk and all is missing" 2
[ "$(stat_value chunk_fetches_total)" -le 20 ] || fail "$(stat_value chunk_fetches_total) chunks were asked for"
exit $((failures != 0))

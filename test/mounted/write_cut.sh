#!/bin/bash
# Another mount makes an array shorter that is being written here: the rows that are left are stored; that the others are lost is told by fsync and
# close, until a refresh.
. "$(dirname "$0")/functions.sh"

store=$tmp/cut.zarr
mkdir -p "$store/t"
echo '{"zarr_format": 2}' >"$store/.zgroup"
echo '{"_ARRAY_DIMENSIONS": ["time"]}' >"$store/t/.zattrs"
echo '{"zarr_format": 2, "shape": [8], "chunks": [2], "dtype": "|u1", "compressor": null, "order": "C", "filters": null, "fill_value": 9}' >"$store/t/.zarray"
must_mount "$store" rw,unlimited=time
other=$mnt
must_mount "$store" rw,unlimited=time

# write ROWS LEFT: that many rows here, while the other mount leaves so many of 8; says what came of fsync and close
write()
{
	{ truncate -s 8 "$other/t" && cat "$mnt/.zarrfs/refresh" >"$tmp/refreshed"; } || fail "eight rows"
	"$python" - "$mnt/t" "$other/t" "$@" <<'PYTHON'
import os, sys
fd = os.open(sys.argv[1], os.O_RDWR)
os.pwrite(fd, b"\1" * int(sys.argv[3]), 0)
os.truncate(sys.argv[2], int(sys.argv[4]))
for end in (os.fsync, os.close):
    try:
        end(fd)
        print(end.__name__, "well", end=" ")
    except OSError as e:
        print(end.__name__, e.errno, end=" ")
PYTHON
}

# stored CHUNK: its bytes
stored()
{
	[ -e "$store/t/$1" ] && od -An -tu1 "$store/t/$1" | xargs
}

same "rows that stay" "$(write 5 5)" "fsync well close well "
same "their last chunk" "$(stored 0), $(stored 2)" "1 1, 1 9"
same "rows that go" "$(write 8 3)" "fsync 5 close 5 "
same "what is left" "$(stored 0), $(stored 1), $(stored 2), $(stored 3)" "1 1, 1 9, , "
eventually 60 grep -q "what was written to 't' behind its first 3 rows is lost" "$log" || fail "not in the log: $(tail -n 3 "$log")"
(printf x >>"$mnt/t") 2>/dev/null && fail "it is written though rows were lost"
same "the next time" "$(write 2 4)" "fsync well close well "
umount_store "$other"
umount_store

#!/bin/bash
# What no reader wants any more is not fetched: not after it was closed or killed in the midst of a chunk, nor after the mount has ended; what
# others still read is.
. "$(dirname "$0")/functions.sh"
. "$here/s3_functions.sh"
needs curl

"$python" - "$tmp" <<'END' || exit 1
import sys
import numpy as np
import stores
values = np.arange(24 << 20, dtype="<i4").reshape(24, -1)
values.tofile(sys.argv[1] + "/want")
for name in "big", "other":
    stores.put(sys.argv[1] + "/store", name, values, chunks=(1, 1 << 20), compressor=None)
stores.consolidate(sys.argv[1] + "/store")
END
port=$(free_port)
"$python" -m http.server --bind 127.0.0.1 --directory "$tmp/store" "$port" >/dev/null 2>&1 &
server=$!
trap 'kill $server 2>/dev/null; finish' EXIT
eventually 20 curl -fsS -o /dev/null "http://127.0.0.1:$port/$(by_form .zmetadata zarr.json)" 2>/dev/null || fail "Python's server does not answer"
begin_proxy "http://127.0.0.1:$port"

# a second in which no request is under way, and none comes
# shellcheck disable=SC2317 # by eventually
nothing_sent()
{
	local before
	before=$(requests)
	sleep 1
	[ "$(under_way)" = 0 ] && [ "$(requests)" = "$before" ]
}

# shellcheck disable=SC2317
asked_for()
{
	[ "$(requests "GET [^ ]*$1 ")" -ge 1 ]
}

# idle WHY: after a moment in which the file may be opened again nothing is sent any more, though each chunk takes 40 s
idle()
{
	eventually 15 nothing_sent || fail "$1: $(under_way) requests are under way: $(asked)"
}

# begin_reading COMMAND...: until it has asked for chunks, in vain; it is $reader
begin_reading()
{
	calm
	forget
	fault "kind=slow&match=/[0-9]&rate=100000"
	"$@" >/dev/null 2>&1 &
	reader=$!
	disown
	eventually 20 asked_for "$(by_form 'big/[0-9]*.0' 'big/c/[0-9]*/0')" || fail "nothing is asked for: $(asked)"
}

must_mount "$PROXY" "memory=512M"
ls -l "$mnt" >/dev/null

begin_reading cat "$mnt/big"
kill -9 $reader
idle "a reader was killed"

begin_reading cat "$mnt/big.nc"
kill -9 $reader
idle "a reader of a netCDF file was killed"

begin_reading "$python" -c 'import mmap, sys
with open(sys.argv[1], "rb") as file:
    map = mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ)
map[5 << 20]' "$mnt/big"
kill -9 $reader
idle "the reader of a memory map was killed"

# chunks of a file that was closed are not wanted either, after a moment in which it may be opened again
calm
fault "kind=slow&match=$(by_form '/([4-9]|1.).0' '/c/([2-9]|1.)/0')&rate=100000"
head -c 9000000 "$mnt/other" >/dev/null
idle "a file was closed"

# nor the chunk ahead of a reader that goes elsewhere
calm
forget
sixth=$(by_form big/6.0 big/c/3/0) # where chunk 6 is
fault "kind=slow&match=$sixth&rate=100000"
"$python" - "$mnt/big" "$tmp/there" <<'END' &
import os, sys, time
with open(sys.argv[1], "rb", buffering=0) as file:
    file.seek(5 << 22)
    got = sum(len(file.read(1 << 18)) for _ in range(10))
    while not os.path.exists(sys.argv[2]):
        time.sleep(0.05)
    file.seek(20 << 22)
    file.read(4)
    time.sleep(60)
END
reader=$!
disown
eventually 20 asked_for "$sixth" || fail "nothing is asked for ahead of a reader: $(asked)"
touch "$tmp/there"
idle "a reader goes elsewhere"
kill -9 $reader

# another program that reads the same chunks gets them all the same, and they are asked for once
calm
forget
fault "kind=slow&match=big/$(by_form "" c/)[0-9]&rate=2000000"
cat "$mnt/big" >/dev/null 2>&1 &
reader=$!
disown
dd if="$mnt/big" bs=4M count=2 iflag=fullblock status=none >"$tmp/got" &
other=$!
eventually 20 asked_for "$(by_form big/1.0 big/c/0/0)" || fail "nothing is asked for: $(asked)"
kill -9 $reader
wait $other || fail "another reader fails"
cmp "$tmp/got" <(head -c 8388608 "$tmp/want") || fail "another reader's bytes"
same "requests for a chunk that one of two readers wants no more" "$(requests "$(by_form big/0.0 big/c/0/0) ")" "$(by_form 1 2)"
idle "the other one has closed its file"

# the mount ends
begin_reading cat "$mnt/big"
kill -9 $reader
eventually 20 unmount "$mnt" || fail "cannot unmount"
umount_store
idle "the mount has ended"

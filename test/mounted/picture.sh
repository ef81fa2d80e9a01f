#!/bin/bash
# VAR.png: what NumPy draws of the flat file; names; chunks that cannot be read; how many are read of 5 TB and of a web server; memory where many
# are asked for at once.
. "$(dirname "$0")/functions.sh"
unset MALLOC_PERTURB_ # by which malloc takes memory of its own
unset http_proxy HTTP_PROXY no_proxy

"$python" "$here/picture.py" make "$tmp/store" || exit 1
must_mount "$tmp/store" list=flat:png,metadata_ttl=3600 # or pictures are drawn again where this takes long
"$python" "$here/picture.py" check "$tmp/store" "$mnt" || fail "pictures are not what NumPy draws"
same "what is listed" "$(ls "$mnt" | grep -c 'png$')" "$(($(ls "$mnt" | grep -vc 'png$') - 1))"
same "which parts there are" "$(cd "$mnt" && ls deep.{2,1.4,1.3.0,01,x,1.}.png 2>/dev/null; ls deep.{1.3,0}.png)" $'deep.0.png\ndeep.1.3.png'
same "modes" "$(stat -c %a "$mnt/rising.png")" 444
drawn=$(stat_value pictures_drawn_total)
cat "$mnt/rising.png" "$mnt/rising.png" >/dev/null
same "pictures drawn again" $(($(stat_value pictures_drawn_total) - drawn)) 0

# A chunk of the first step is bad, one of the second is none of its business.
printf x >"$tmp/store/steps/0.1.1"
cat "$mnt/.zarrfs/refresh" >/dev/null
! cat "$mnt/steps.png" >"$tmp/out" 2>"$tmp/said" || fail "a picture with a chunk that cannot be read"
grep -q "Input/output error" "$tmp/said" || fail "a bad chunk: $(cat "$tmp/said")"
eventually 60 grep -q "steps/0.1.1" "$log" || fail "the log does not name the chunk: $(cat "$log")"
same "bytes of a picture with a bad chunk" "$(stat -c %s "$tmp/out")" 0
cat "$mnt/steps.3.png" >/dev/null || fail "a picture without the bad chunk"
umount_store

# Much more than may be read: 5 TB of which some is stored, and chunks so deep and wide that few fit.
"$python" - "$tmp/large" <<'END' || exit 1
import sys
import numcodecs
import numpy as np
import zarr
g = zarr.open_group(zarr.DirectoryStore(sys.argv[1]), "w")
huge = g.create_dataset("huge", shape=(1000000, 1000, 1250), chunks=(1, 1000, 1250), dtype="f4", fill_value=1.5, compressor=numcodecs.LZ4())
huge[7] = np.arange(1250000, dtype="f4").reshape(1000, 1250)
wide = g.create_dataset("wide", shape=(60, 200000, 200000), chunks=(60, 250, 500), dtype="u2", fill_value=3, compressor=numcodecs.LZ4())
many = g.create_dataset("many", shape=(100, 1000, 1000), chunks=(1, 1000, 1000), dtype="f8", fill_value=1, compressor=numcodecs.LZ4())
for name, dims in ("huge", "tyx"), ("wide", "tvu"), ("many", "nyx"):
    g[name].attrs["_ARRAY_DIMENSIONS"] = list(dims)
for name, n in ("t", 1000000), ("y", 1000):
    g.create_dataset(name, data=np.arange(n), chunks=1000)
    g[name].attrs.update({"_ARRAY_DIMENSIONS": [name], "axis": name.upper()})
zarr.consolidate_metadata(sys.argv[1])
END
must_mount "$tmp/large" memory=64M,metadata_ttl=3600,timeout=300 # the last of many waits for all others
# costs WHAT MOST COMMAND...: chunks that it has fetched
costs()
{
	local before after
	before=$(stat_value chunk_fetches_total)
	"${@:3}" >/dev/null || fail "$1"
	after=$(stat_value chunk_fetches_total)
	[ $((after - before)) -le "$2" ] || fail "$1 fetches $((after - before)) chunks, more than $2"
}
costs "stat of 5 TB" 0 stat "$mnt/huge.png"
costs "a picture of 5 TB" 4 cat "$mnt/huge.7.png" # its chunk, t, and both ends of y
costs "a picture of 640,000 chunks in a step" 256 cat "$mnt/wide.59.png"
for name in huge.7 wide.59; do
	same "bytes of $name.png" "$(wc -c <"$mnt/$name.png")" "$(stat -c %s "$mnt/$name.png")"
done
count=100
sanitized && count=12
drawn=$(stat_value pictures_drawn_total)
echo "peak memory with large ones: $(peak_memory) KiB"
"$python" "$here/picture.py" many "$mnt" $count many || fail "many pictures at once"
drawn=$(($(stat_value pictures_drawn_total) - drawn))
[ $drawn -le $((count + count / 10)) ] || fail "$count pictures were drawn $drawn times"
echo "peak memory with $count pictures at once: $(peak_memory) KiB"
sanitized || [ "$(peak_memory)" -le $((128 * 1024)) ] || fail "the daemon took $(peak_memory) KiB"
umount_store

# Behind a web server: requests.
port=$(free_port)
"$python" -m http.server --bind 127.0.0.1 --directory "$tmp/large" "$port" >/dev/null 2>"$tmp/requests" &
server=$!
trap 'kill $server 2>/dev/null; finish' EXIT
# shellcheck disable=SC2317 # eventually calls it
answers()
{
	"$python" -c "import socket; socket.create_connection(('127.0.0.1', $port))" 2>/dev/null
}
eventually 60 answers || fail "Python's server does not answer"
must_mount "http://127.0.0.1:$port/#mode=zarr" metadata_ttl=3600
requests()
{
	grep -c GET "$tmp/requests"
}
for what in "huge.7 4" "wide 32"; do
	before=$(requests)
	cat "$mnt/${what% *}.png" >/dev/null || fail "${what% *}.png behind a web server"
	now=$(($(requests) - before))
	[ $now -le $((${what#* } + 2)) ] || fail "${what% *}.png takes $now requests: $(tail -n $now "$tmp/requests" | head -n 50)"
done
exit $((failures != 0))

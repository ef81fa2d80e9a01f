#!/bin/bash
# An S3 server that fails, breaks off, stalls, lies, moves and vanishes: a read gives the right bytes or, at its deadline, an error that the
# log explains; never wrong bytes. What hangs can be killed and unmounted; what comes back works without a remount.
. "$(dirname "$0")/functions.sh"
. "$here/s3_functions.sh"

timeout=6
store=s3://bucket/store.zarr
begin_bucket
begin_proxy

# recovers QUERY [FILE...]: in spite of this fault all bytes are right
recovers()
{
	local query=$1 file
	shift
	calm
	forget
	must_mount $store timeout=12
	fault "$query"
	for file in "${@:-packed}"; do
		cmp "$mnt/$file" "$tmp/want/$file" || fail "$query: $file: $(cat "$mnt/.zarrfs/log")"
	done
	[ "$(requests ' (status|region|reset|truncate|stall|latency|slow|corrupt)$')" -gt 0 ] || fail "$query: no fault was met: $(asked)"
	calm
	umount_store
}

# gives_up QUERY SECONDS REGEX [ERROR]: reading fails within that time, the log says why, and all is well when the fault is over
gives_up()
{
	local before
	calm
	must_mount $store timeout=$timeout
	ls -l "$mnt" >/dev/null
	fault "$1"
	before=$SECONDS
	if cat "$mnt/checked" >"$tmp/got" 2>"$tmp/said"; then
		cmp "$tmp/got" "$tmp/want/checked" && fail "$1: it can be read all the same: $(asked | tail -3)"
	fi
	local most=$2
	sanitized && most=$((2 * most))
	[ $((SECONDS - before)) -le "$most" ] || fail "$1: it took $((SECONDS - before)) s"
	grep -q "${4:-Input/output error}" "$tmp/said" || fail "$1: cat says '$(cat "$tmp/said")'"
	cmp -n "$(stat -c %s "$tmp/got")" "$tmp/got" "$tmp/want/checked" || fail "$1: wrong bytes"
	grep -E -- "$3" "$mnt/.zarrfs/log" | grep -q 'checked' || fail "$1: the log says '$(cat "$mnt/.zarrfs/log")', not '$3'"
	calm
	eventually 10 cmp -s "$mnt/checked" "$tmp/want/checked" || fail "$1: it does not come back"
	umount_store
}

# --- passing faults

recovers "kind=status&every=10" packed plain checked deep/er/few
recovers "kind=status&status=500&code=InternalError&count=3"
recovers "kind=status&status=429&retry=1&count=1"
recovers "kind=reset&every=5" packed plain
recovers "kind=reset&after=1000&every=5" packed plain
recovers "kind=truncate&after=1000&every=3" packed plain
recovers "kind=truncate&after=0&count=2"
recovers "kind=latency&seconds=0.1" plain
recovers "kind=slow&rate=100000" checked
recovers "kind=stall&count=2&match=plain/[0-9]" plain
recovers "kind=stall&after=1000&count=2" plain
recovers "kind=corrupt&at=500&match=checked/3&count=1" checked
recovers "kind=slow&rate=20&count=1&match=checked/3" checked
recovers "kind=region&region=mars-1" plain
recovers "kind=region&region=mars-1&status=400" plain

# waits_for END COMMAND...: what COMMAND begins lasts for 3 s, and no read fails
waits_for()
{
	local end=$1 file
	shift
	must_mount $store timeout=40
	ls -l "$mnt" >/dev/null
	"$@"
	(sleep 3; $end) &
	for file in plain checked; do
		cmp "$mnt/$file" "$tmp/want/$file" || fail "$*: $file: $(cat "$mnt/.zarrfs/log")"
	done
	wait $!
	umount_store
}

waits_for calm fault kind=status
waits_for begin_proxy end_proxy

# --- faults that stay

gives_up "kind=status&match=checked/[0-9]" 30 'HTTP status 503 SlowDown.*zarrfs-test-request'
gives_up "kind=status&status=403&match=checked/[0-9]" 3 'HTTP status 403 AccessDenied.*zarrfs-test-request' 'Permission denied'
gives_up "kind=reset&match=checked/[0-9]" $((timeout + 3)) 'checked/[0-9].*\b(reset|closed|recv)'
gives_up "kind=truncate&after=0&match=checked/[0-9]" $((timeout + 3)) 'checked/[0-9]'
gives_up "kind=stall&match=checked/[0-9]" $((timeout + 3)) 'checked/[0-9]'
gives_up "kind=stall&after=10&match=checked/[0-9]" $((timeout + 3)) 'checked/[0-9]'
gives_up "kind=corrupt&at=500&match=checked/3" $((timeout + 3)) 'crc32'

# nor need there be a checksum of the chunk's own
must_mount $store timeout=12,verify=true
fault "kind=corrupt&at=500&match=plain/[0-9]&count=1"
cmp "$mnt/plain" "$tmp/want/plain" || fail "verify: what came damaged once is not asked for again"
[ "$(requests ' corrupt$')" -gt 0 ] || fail "verify: no fault was met"
calm
umount_store
must_mount $store timeout=12,verify=true
fault "kind=corrupt&at=500&match=plain/[0-9]"
cat "$mnt/plain" >"$tmp/got" 2>/dev/null && fail "verify: damaged bytes are read"
cmp -n "$(stat -c %s "$tmp/got")" "$tmp/got" "$tmp/want/plain" || fail "verify: wrong bytes"
grep -q "plain/[0-9.]*' came damaged" "$mnt/.zarrfs/log" || fail "verify: the log says '$(cat "$mnt/.zarrfs/log")'"
calm
umount_store

# what was damaged on its way does not stay on disk
must_mount $store "timeout=12,cache_dir=$tmp/disk"
fault "kind=corrupt&at=500&match=checked/3"
cat "$mnt/checked" >"$tmp/got" 2>/dev/null && fail "damaged bytes are read"
calm
umount_store
must_mount $store "timeout=12,cache_dir=$tmp/disk"
cmp "$mnt/checked" "$tmp/want/checked" || fail "damaged bytes stay on disk: $(cat "$mnt/.zarrfs/log")"
umount_store

# --- shards: a part of an object is asked for, and the index of its chunks before it

if ! sanitized; then
	STORES_FORM=shards "$python" "$here/s3.py" store "$tmp/shards.zarr" "$tmp/want" || exit 1
	s3 put "$tmp/shards.zarr" bucket/shards.zarr
	whole=$store store=s3://bucket/shards.zarr
	recovers "kind=status&every=4" packed plain checked
	recovers "kind=reset&after=20&every=5" packed plain
	recovers "kind=truncate&after=60&every=3" checked
	recovers "kind=corrupt&at=20&match=checked/c/1/&count=1" checked
	recovers "kind=stall&after=30&count=2&match=plain/c/" plain
	gives_up "kind=corrupt&at=20&match=checked/c/" $((timeout + 3)) 'index of a shard'
	store=$whole
fi

# --- several at once, several readers: right bytes or an error

must_mount $store timeout=20
fault "kind=status&every=7"
fault "kind=reset&every=11"
fault "kind=truncate&after=700&every=5"
fault "kind=stall&every=50"
fault "kind=corrupt&at=600&every=13&match=checked/"
readers=()
for file in packed plain checked deep/er/few sparse; do
	cmp "$mnt/$file" "$tmp/want/$file" >"$tmp/cmp.$!" 2>&1 &
	readers+=($!)
done
for reader in "${readers[@]}"; do
	wait "$reader"
done
for said in "$tmp"/cmp.*; do
	[ ! -s "$said" ] || grep -q 'Input/output error' "$said" || fail "wrong bytes: $(cat "$said")"
done
[ "$(stat_value http_retries_total)" -gt 0 ] || fail "retries are not counted"
calm
for file in packed plain checked deep/er/few sparse; do
	eventually 10 cmp -s "$mnt/$file" "$tmp/want/$file" || fail "$file does not come back"
done
umount_store

# --- an endpoint that swallows everything: reader and mount can be got rid of

must_mount $store timeout=60
ls -l "$mnt" >/dev/null
fault kind=stall
for n in 1 2 3 4 5 6; do
	dd if="$mnt/plain" bs=32768 count=1 skip=$((n * 3)) of=/dev/null 2>/dev/null &
	readers[n]=$!
	disown
done
sleep 0.5
kill -9 "${readers[1]}"
eventually 5 ended "${readers[1]}" || fail "a reader under kill -9 is still there after 5 s"
[ -n "$(timeout 10 cat "$mnt/.zarrfs/stats")" ] || fail "no stats beside readers that hang"
kill -9 "${readers[@]:2:5}"
for n in 2 3 4 5 6; do # what still ends keeps the mount busy
	eventually 5 ended "${readers[n]}" || fail "a reader under kill -9 is still there after 5 s"
done
before=$SECONDS
timeout 10 umount "$mnt" || timeout 10 fusermount3 -u "$mnt" || fail "umount"
eventually 5 ended "$daemon" || fail "the daemon does not end within 5 s of umount"
[ $((SECONDS - before)) -le 5 ] || fail "umount took $((SECONDS - before)) s"
calm

# nor does a pause between two attempts keep a reader or the mount
must_mount $store timeout=60
ls -l "$mnt" >/dev/null
fault kind=status
cat "$mnt/plain" >/dev/null 2>&1 &
reader=$!
disown
sleep 4
kill -9 $reader || fail "a server that complains for 4 s is given up"
eventually 5 ended $reader || fail "in a pause: a reader under kill -9 is still there after 5 s"
before=$SECONDS
umount_store
[ $((SECONDS - before)) -le 5 ] || fail "in a pause: umount took $((SECONDS - before)) s"
calm

fault kind=stall
before=$SECONDS
refused $store timeout=3 'time|3 s'
[ $((SECONDS - before)) -le 6 ] || fail "being refused took $((SECONDS - before)) s"
calm

# --- a server that cannot be reached, and comes back

must_mount $store timeout=3
cmp "$mnt/lat" "$tmp/want/lat" || fail "lat"
end_proxy
before=$SECONDS
cat "$mnt/plain" >/dev/null 2>"$tmp/said" && fail "data from a server that is not there"
grep -q 'Input/output error' "$tmp/said" || fail "no server: cat says '$(cat "$tmp/said")'"
[ $((SECONDS - before)) -le 6 ] || fail "no server: it took $((SECONDS - before)) s"
cmp "$mnt/lat" "$tmp/want/lat" || fail "what was read before, without a server"
begin_proxy
eventually 10 cmp -s "$mnt/plain" "$tmp/want/plain" || fail "the server is back, the data is not: $(cat "$mnt/.zarrfs/log")"
umount_store
"$tools/proxy" deaf >"$tmp/deaf" &
silent=$!
eventually 5 test -s "$tmp/deaf" || fail "no deaf server"
before=$SECONDS
AWS_ENDPOINT_URL_S3=http://127.0.0.1:$(cat "$tmp/deaf") refused $store timeout=4 'time|4 s'
[ $((SECONDS - before)) -le 7 ] || fail "a deaf server: being refused took $((SECONDS - before)) s"
kill $silent

# --- a store, then its bucket, that disappears: what is not there any more is an error, not fill

must_mount $store metadata_ttl=1,timeout=5
head -c 512 "$mnt/sparse" | cmp - <(head -c 512 "$tmp/want/sparse") || fail "sparse"
exec 3<"$mnt/plain"
head -c 4 <&3 >/dev/null || fail "plain"
s3 rm bucket/store.zarr/
sleep 1.5
dd bs=4096 skip=150 count=1 status=none <&3 >"$tmp/got" 2>"$tmp/said" && fail "a store that is gone: the open file gives $(wc -c <"$tmp/got") bytes"
grep -q 'Input/output error' "$tmp/said" || fail "a store that is gone: about the open file '$(cat "$tmp/said")'"
exec 3<&-
s3 drop bucket
for file in sparse plain checked; do
	tail -c 2000 "$mnt/$file" >"$tmp/got" 2>"$tmp/said" && fail "a bucket that is gone: $file gives $(wc -c <"$tmp/got") bytes"
	[ -s "$tmp/got" ] && fail "a bucket that is gone: $file gives some bytes"
	grep -qE 'Input/output error|No such file|Stale' "$tmp/said" || fail "a bucket that is gone: '$(cat "$tmp/said")'"
done

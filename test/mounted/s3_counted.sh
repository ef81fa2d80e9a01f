#!/bin/bash
# What is asked of an S3 server, counted at a proxy: one request to open, one for an array's own metadata, one a chunk, many at once; listings of
# 500 variables and of 100,000 keys cost what they must, and little memory.
. "$(dirname "$0")/functions.sh"
. "$here/s3_functions.sh"
needs ncdump zip

keys=100000 dozens=24
sanitized && keys=20000 dozens=12 # what is asked for next is begun later
"$python" "$here/s3.py" many "$tmp/many.zarr" 500 || exit 1
begin_bucket
s3 put "$tmp/many.zarr" bucket/many.zarr
"$python" "$here/s3.py" long "$tmp/long.zarr" 300 || exit 1
s3 put "$tmp/long.zarr" bucket/long.zarr
s3 put "$here/s3.py" bucket/prefix/key-000000
"$python" "$here/s3.py" index "$S3_CEPH" bucket prefix/key-000000 $keys || fail "the index"
begin_proxy

# counts WHAT WANT [REGEX]: requests since forget
counts()
{
	[ "$(requests "${3:-.}")" = "$2" ] || fail "$1: $(requests "${3:-.}") requests, not $2: $(asked)"
}

# peak: most requests under way at once since forget
peak()
{
	curl -s "$PROXY/-/counts" | sed 's/.*"peak": *\([0-9]*\).*/\1/'
}

forget
must_mount s3://bucket/store.zarr
counts "a mount" 1
ls -lR "$mnt" >/dev/null
getfattr -dR "$mnt" >/dev/null
counts "ls -lR and getfattr after it" 1
forget
cmp "$mnt/plain" "$tmp/want/plain" || fail "plain"
counts "reading 24 chunks" 25
counts "the array's own metadata" 1 'plain/\.zarray'
counts "a chunk" 24 '^GET [^ ]*plain/[0-9.]+ '
cmp "$mnt/plain" "$tmp/want/plain" || fail "plain, again"
counts "reading it again" 25
forget
cmp "$mnt/sparse" "$tmp/want/sparse" || fail "sparse"
counts "reading 16 chunks of which two are there" 17 'sparse/'
counts "HEAD" 0 '^HEAD'
umount_store

forget
must_mount s3://bucket/store.zarr
head -c 4 "$mnt/lat" | cmp - <(head -c 4 "$tmp/want/lat") || fail "the first value"
[ "$(requests)" -le 3 ] || fail "mount and first value: $(requests) requests: $(asked)"
umount_store

# beside LATE NEXT WHY COMMAND...: while what the command asks for first (LATE) does not come, NEXT is asked for; what it prints is $tmp/said
beside()
{
	local late=$1 next=$2 why=$3 reader
	shift 3
	fault "kind=stall&match=$late"
	"$@" >"$tmp/said" &
	reader=$!
	next_comes()
	{
		[ "$(requests "GET [^ ]*$next ")" = 1 ]
	}
	eventually 20 next_comes || fail "$why: $(asked)"
	calm
	wait $reader
}

# the metadata of an array that is opened and its first chunk are asked for together
must_mount s3://bucket/store.zarr
forget
beside 'lat/\.zarray' lat/0 "the first chunk waits for the metadata" head -c 4 "$mnt/lat"
cmp "$tmp/said" <(head -c 4 "$tmp/want/lat") || fail "the first value, whose metadata came late"
counts "a chunk asked for before its metadata came" 1 'GET [^ ]*lat/0 '
umount_store

# the variables that one read of a netCDF file needs are asked for together
must_mount s3://bucket/store.zarr
forget
beside lat/0 sparse/0.0 "a variable waits for the one before it" cat "$mnt/dataset.nc"
cmp "$tmp/said" <("$ZARRFS" --cat "$tmp/store.zarr" dataset.nc) || fail "dataset.nc, of which a chunk came late"
umount_store

# so are the metadata of all coordinates of a CSV, and then its first chunk and theirs
for late in '(time|lat)/\.zarray' '(grid|time|lat)/0'; do
	must_mount s3://bucket/long.zarr
	forget
	beside "$late" "lon/${late#*/}" "a coordinate waits for others" cat "$mnt/grid.csv"
	cmp "$tmp/said" <("$ZARRFS" --cat "$tmp/long.zarr" grid.csv) || fail "grid.csv, for which $late came late"
	counts "metadata and a chunk of a coordinate" 2 'lon/'
	umount_store
done

forget
must_mount s3://bucket/many.zarr
same "lines of ls -l" "$(ls -l "$mnt" | grep -c '^-.* v[0-9]*$')" 500
[ "$(requests)" -le 2 ] || fail "mount and ls -l of 500 variables: $(requests) requests: $(asked)"
forget
same "variables that ncdump -h shows" "$(ncdump -h "$mnt/dataset.nc" | grep -c '^.float v')" 500
counts "ncdump -h of 500 variables" 0 'many.zarr/v[0-9]*/[0-9]'
umount_store

# metadata that are not consolidated: two objects an array, with those of its siblings
rm "$tmp/store.zarr/.zmetadata"
s3 put "$tmp/store.zarr" bucket/loose.zarr
must_mount s3://bucket/loose.zarr
forget
fault "kind=latency&seconds=0.1"
ls -l "$mnt" >/dev/null
[ "$(peak)" -ge 5 ] || fail "metadata of seven siblings: at most $(peak) requests at once"
calm
for name in plain packed checked lat sparse; do
	counts "$name, which is not consolidated" 2 "$name/"
done
counts "a group that is not consolidated" 4 'deep/'
umount_store
s3 rm bucket/loose.zarr/

# a reader in order has dozens of requests under way, of which the statistics tell
must_mount s3://bucket/long.zarr
fault "kind=latency&seconds=0.5"
forget
cmp "$mnt/v" <("$ZARRFS" --cat "$tmp/long.zarr" v) || fail "v"
[ "$(peak)" -ge $dozens ] || fail "reading in order: at most $(peak) requests at once"
calm
same "the slow half of all requests" "$(stat_value 'http_latency_seconds{kind="get",quantile="0.5"}' | awk '{ print ($1 >= 0.15 && $1 < 5) }')" 1
same "the slowest of them" "$(stat_value 'http_latency_seconds{kind="get",quantile="0.99"}' | awk '{ print ($1 >= 0.15 && $1 < 30) }')" 1
[ "$(stat_value http_read_bytes_total)" -ge $((300 << 17)) ] || fail "$(stat_value http_read_bytes_total) bytes were counted"
umount_store

# two programs that read a file at the same moment share the kernel's pages, so that each asks for some of it only: together they are one
# reader, unless one of them is held up for long
want=$("$ZARRFS" --cat "$tmp/long.zarr" v | sha256sum)
exact=0
for _ in {1..3}; do
	must_mount s3://bucket/long.zarr
	fault "kind=latency&seconds=0.02"
	forget
	sha256sum <"$mnt/v" >"$tmp/one" &
	reader=$!
	same "v, of two readers" "$(sha256sum <"$mnt/v")" "$want"
	wait $reader
	same "v, of the other reader" "$(cat "$tmp/one")" "$want"
	calm
	[ "$(requests)" -le 330 ] || fail "two readers of 300 chunks: $(requests) requests: $(asked)"
	[ "$(requests)" != 301 ] || exact=$((exact + 1))
	umount_store
done
[ $exact -ge 1 ] || fail "two readers of 300 chunks: three times more than 301 requests"

# what was read stays as long as there is room: the same values in another file cost nothing again
must_mount s3://bucket/long.zarr
forget
cmp "$mnt/v" <("$ZARRFS" --cat "$tmp/long.zarr" v) || fail "v before v.nc"
sha256sum <"$mnt/v.nc" | cmp - <("$ZARRFS" --cat "$tmp/long.zarr" v.nc | sha256sum) || fail "v.nc after v"
counts "v.nc after v" 300 'long.zarr/v/[0-9]'
umount_store
"$ZARRFS" --cat "$tmp/long.zarr" packed >"$tmp/packed"
must_mount s3://bucket/long.zarr metadata_ttl=1
forget
cmp "$mnt/packed" "$tmp/packed" || fail "packed"
sha256sum <"$mnt/packed.nc" | cmp - <("$ZARRFS" --cat "$tmp/long.zarr" packed.nc | sha256sum) || fail "packed.nc after packed"
sleep 1.5
cmp "$mnt/packed" "$tmp/packed" || fail "packed, after its time"
counts "compressed chunks in three readings" 24 'packed/[0-9.]+ - 200'
umount_store

# where the chunks of a slab fit as they are stored, but not decoded, they are fetched once and decoded again for other planes (sanitizers
# take so long for a chunk that some come too late to be kept)
must_mount s3://bucket/long.zarr memory=48M
forget
cmp "$mnt/cubes" <("$ZARRFS" --cat "$tmp/long.zarr" cubes) || fail "cubes"
echo "64 chunks that fit as they are stored: $(requests 'cubes/[0-9]') requests"
sanitized || [ "$(requests 'cubes/[0-9]')" -le 70 ] || fail "64 chunks that fit as they are stored: $(requests 'cubes/[0-9]') requests"
umount_store

# a reader of an archive in order has dozens of requests under way too, though only its directory was read until then
(cd "$tmp/long.zarr" && zip -q -0 -r "$tmp/long.zip" .) || fail "zip"
s3 put "$tmp/long.zip" bucket/long.zip
forget
must_mount s3://bucket/long.zip
ls -lR "$mnt" >/dev/null
before=$(requests)
[ "$before" -le 6 ] || fail "mount and ls -lR of an archive: $before requests: $(asked)"
fault "kind=latency&seconds=0.5"
cmp "$mnt/v" <("$ZARRFS" --cat "$tmp/long.zarr" v) || fail "v of an archive"
[ "$(peak)" -ge $dozens ] || fail "reading an archive in order: at most $(peak) requests at once"
[ $(($(requests) - before)) -le 302 ] || fail "300 chunks of an archive: $(($(requests) - before)) requests"
calm
umount_store
s3 rm bucket/long.zip

# an archive that came whole with its directory costs nothing more, but that its metadata are looked at again after half a second
(cd "$tmp/long.zarr" && zip -q -0 -r "$tmp/short.zip" . -i '.z*' 'grid/*') || fail "zip"
[ "$(stat -c %s "$tmp/short.zip")" -le 262144 ] || fail "the archive is too large: $(stat -c %s "$tmp/short.zip")"
s3 put "$tmp/short.zip" bucket/short.zip
forget
must_mount s3://bucket/short.zip
cmp "$mnt/grid" <("$ZARRFS" --cat "$tmp/long.zarr" grid) || fail "grid of a small archive"
counts "requests for more than a byte of a small archive" 1 '^GET .* 206 [0-9]{2,}'
s3 rm bucket/short.zip
umount_store

# for a reader of a point in every third chunk the next such chunks are asked for ahead
must_mount s3://bucket/long.zarr
forget
same "points along a stride" "$("$python" -c '
import os, sys
file = os.open(sys.argv[1], os.O_RDONLY)
print(*(int.from_bytes(os.pread(file, 4, n * 3 << 17), "little") for n in range(6)))' "$mnt/v")" "0 3 6 9 12 15"
# shellcheck disable=SC2317 # by eventually
followed()
{
	[ "$(requests 'long.zarr/v/(18|21|24|27).0 ')" = 4 ]
}
eventually 10 followed || fail "nothing is fetched ahead along a stride: $(asked)"

# a point of a large chunk costs a part of it
forget
same "a point" "$(dd if="$mnt/wide" bs=4 count=1 skip=1500000 status=none | od -A n -t d4 | xargs)" 1500000
most=$(asked | awk '/wide\/1.0 / { n += $5 } END { print n + 0 }')
((most > 0 && most <= 1 << 20)) || fail "a point of a chunk of 4 MiB took $most bytes: $(asked)"
umount_store

# stored bytes of compressed chunks stay for a program that reads parts of them, the last one first, and then all in order
cat >"$tmp/parts.py" <<'END'
import os, sys
file, want = (os.open(name, os.O_RDONLY) for name in sys.argv[1:])
for part in 3, 0, 2:
    for chunk in sorted(range(24), key=lambda n: n * 7 % 24):
        at = (4 * chunk + part << 18) + 1000 * chunk
        assert os.pread(file, 4, at) == os.pread(want, 4, at), at
END
must_mount s3://bucket/long.zarr memory=128M
forget
"$python" "$tmp/parts.py" "$mnt/packed" "$tmp/packed" || fail "parts of packed"
counts "three parts of 24 chunks" 24 'packed/[0-9]'
cmp "$mnt/packed" "$tmp/packed" || fail "packed"
counts "all of 24 chunks after parts of them" 24 'packed/[0-9]'
umount_store

# nor does it matter how many share the work: each of eight, with a file of its own, takes the next part, which begins within a chunk
cat >"$tmp/shared.py" <<'END'
import concurrent.futures, os, sys
want = open(sys.argv[2], "rb").read()
def part(at):
    file = os.open(sys.argv[1], os.O_RDONLY)
    assert os.pread(file, PART, at) == want[at:at + PART], at
    os.close(file)
PART = 700000
with concurrent.futures.ThreadPoolExecutor(8) as pool:
    list(pool.map(part, range(0, len(want), PART)))
END
must_mount s3://bucket/long.zarr
forget
"$python" "$tmp/shared.py" "$mnt/packed" "$tmp/packed" || fail "packed, shared by eight readers"
counts "24 chunks shared by eight readers" 24 'packed/[0-9]'
umount_store

# for a reader of a little in order, but not from the beginning, not much more is fetched ahead
must_mount s3://bucket/long.zarr
forget
dd if="$mnt/v" bs=256K skip=40 count=1 status=none >"$tmp/part"
sleep 0.5
"$ZARRFS" --cat "$tmp/long.zarr" v | tail -c +$((40 * 262144 + 1)) | cmp -n 262144 - "$tmp/part" || fail "a part of v"
[ "$(requests 'long.zarr/v/[0-9]')" -le 80 ] || fail "for 256 KiB $(requests 'long.zarr/v/[0-9]') chunks of 128 KiB are fetched"
umount_store

# a reader of one of many large chunks causes requests for a few others; if it goes on, dozens are under way too
must_mount s3://bucket/long.zarr
forget
same "a field's last value" "$(dd if="$mnt/fields" bs=4M count=1 iflag=fullblock status=none | tail -c 4 | od -A n -t d4 | xargs)" 0
sleep 0.5 # for what is still asked for
few=$(requests 'fields/[0-9]')
[ "$few" -le 8 ] || fail "reading one field: $few chunks: $(asked)"
umount_store
must_mount s3://bucket/long.zarr
fault "kind=latency&seconds=0.5"
forget
same "the last field's last value" "$(dd if="$mnt/fields" bs=1M status=none | tail -c 4 | od -A n -t d4 | xargs)" 47
[ "$(peak)" -ge $dozens ] || fail "reading fields in order: at most $(peak) requests at once"
calm
umount_store

# of the chunk behind a large one that a reader wants, only what the kernel reads ahead is fetched
must_mount s3://bucket/long.zarr
forget
same "a large chunk's last value" "$(dd if="$mnt/large" bs=16M skip=1 count=1 iflag=fullblock status=none | tail -c 4 | od -A n -t d4 | xargs)" 8388607
eventually 20 all_answered || fail "reading one large chunk: requests are under way"
behind=$(curl -s "$PROXY/-/log" | awk '/large.2[.]0/ { n += $5 } END { print n + 0 }')
[ "$behind" -le $((4 << 20)) ] || fail "reading one large chunk: $behind bytes of the next: $(asked)"
umount_store

# a reader in order that seeks does not wait for what was to be read next: with two connections, whose requests take
# long, the chunk there is asked for before most of what was prefetched
cat >"$tmp/seek.py" <<'END'
import sys, urllib.request
def log():
    return [line.split()[1] for line in urllib.request.urlopen(sys.argv[2] + "/-/log").read().decode().splitlines()]
with open(sys.argv[1], "rb", buffering=0) as file:
    for _ in range(8):
        file.read(1 << 17)
    before = len(log())
    file.seek(290 << 17)
    assert file.read(4) == (290).to_bytes(4, "little")
    print(next(i for i, key in enumerate(log()) if key.endswith("/v/290.0")) - before)
END
must_mount s3://bucket/long.zarr connections=2,read_ahead_kb=128
fault "kind=latency&seconds=0.05"
behind=$("$python" "$tmp/seek.py" "$mnt/v" "$PROXY")
calm
echo "a seek: its request comes behind $behind others"
[ "$behind" -le 8 ] || fail "a seek waits for $behind requests that no reader needs"
umount_store

forget
must_mount s3://bucket
ls "$mnt" >"$tmp/list"
same "ls of a bucket" "$(cat "$tmp/list")" "$(printf '%s\n' long.zarr many.zarr prefix store.zarr)"
[ "$(requests)" -le 6 ] || fail "mount and ls of a bucket: $(requests) requests: $(asked)"
[ "$(requests 'list-type=2')" -le 2 ] || fail "mount and ls of a bucket: $(requests 'list-type=2') listings"
before=$(awk '$1 == "VmRSS:" { print $2 }' "/proc/$daemon/status")
forget
same "ls of $keys keys" "$(ls -U --color=never "$mnt/prefix" | grep -c .)" $keys
pages=$(requests 'prefix=prefix%2F')
[ "$pages" -le $((keys / 1000 + 2)) ] || fail "ls of $keys keys: $pages pages"
[ "$(requests)" -le $((keys / 1000 + 6)) ] || fail "ls of $keys keys: $(requests) requests: $(asked | cut -c1-200 | sort | uniq -c | sort -rn | head)"
grew=$(($(peak_memory) - before))
echo "ls of $keys keys: $(requests) requests, $grew KiB more memory"
sanitized || [ $grew -le 24576 ] || fail "ls of $keys keys took $grew KiB more memory"
umount_store

#!/bin/bash
# ls -l of 20,000 arrays from consolidated metadata; a netCDF-4 file of all; find and du over 300,000 chunk files: no chunk is touched, and memory stays small.
# shellcheck disable=SC2012 # names here have no newlines
. "$(dirname "$0")/functions.sh"

arrays=20000 chunks=100000
sanitized && arrays=2000 chunks=10000
"$python" "$here/many.py" "$tmp" $arrays $chunks || exit 1

# since: seconds since $before
since()
{
	awk "BEGIN { printf \"%.2f\", $EPOCHREALTIME - $before }"
}

# peak_below KIB WHAT: of the present daemon
peak_below()
{
	local peak
	peak=$(peak_memory)
	echo "$2: peak memory $((peak / 1024)) MiB"
	sanitized || [ "$peak" -le "$1" ] || fail "$2 took $peak KiB, more than $1"
}

must_mount "$tmp/arrays.zarr" list=flat
before=$EPOCHREALTIME
ls -l "$mnt" >"$tmp/list" || fail "ls -l"
echo "ls -l of $arrays arrays: $(since) s"
same "lines of ls -l" "$(grep -c '^-r' "$tmp/list")" $arrays
same "sizes in ls -l" "$(awk '$1 ~ /^-/ { print $5 }' "$tmp/list" | sort -u)" 48000
same "chunks fetched by ls -l" "$(stat_value chunk_fetches_total)" 0
asked=$(stat_value 'fuse_requests_total{op="getxattr"}')
[ "$asked" -le 10 ] || fail "ls -l asked for $asked attributes, one file after the other"
peak_below $((64 * 1024 + 4 * arrays)) "ls -l of $arrays arrays"
umount_store

# with all that variables have; what they are for is worked out once
must_mount "$tmp/arrays.zarr" list=flat:nc:csv:npy
before=$EPOCHREALTIME
same "files listed" "$(ls "$mnt" | wc -l)" $((4 * arrays))
echo "first ls of $((4 * arrays)) files: $(since) s"
before=$EPOCHREALTIME
ls "$mnt" >"$tmp/list" || fail "ls"
echo "next ls of $((4 * arrays)) files: $(since) s"
sanitized || awk "BEGIN { exit !($(since) < 5) }" || fail "the next ls took $(since) s"
same "chunks fetched by ls" "$(stat_value chunk_fetches_total)" 0
peak_below $((64 * 1024 + 4 * arrays)) "ls of $((4 * arrays)) files"
umount_store

# one file of all of them: what is kept for it is what its head takes, and little more
must_mount "$tmp/arrays.zarr"
before=$EPOCHREALTIME
size=$(stat -c %s "$mnt/dataset.nc4")
echo "stat of dataset.nc4 with $arrays variables: $(since) s"
[ "$size" -gt $((48000 * arrays)) ] || fail "dataset.nc4 has $size bytes"
bytes=$(stat_value layouts_bytes)
[ "$bytes" -gt $((256 * arrays)) ] || fail "the layout is not kept: $bytes bytes"
[ "$bytes" -le $((1024 * arrays)) ] || fail "the layout takes $bytes bytes"
same "chunks fetched by stat" "$(stat_value chunk_fetches_total)" 0
peak_below $((64 * 1024 + 4 * arrays)) "a file of $arrays variables"
umount_store

# the same with little memory: what is not kept is made again, and leaves nothing behind
must_mount "$tmp/arrays.zarr" memory=64M
for i in 1 2 3; do
	same "kind $i" "$(head -c 4 "$mnt/dataset.nc4" | tail -c 3)" HDF
done
peak_below $((160 * 1024)) "a file of $arrays variables with memory=64M"
umount_store

must_mount "$tmp/chunks.zarr" list=flat
before=$EPOCHREALTIME
same "files that find sees" "$(find "$mnt" -type f | wc -l)" 3
same "bytes that du sees" "$(du -sb --apparent-size "$mnt/a0" | cut -f1)" $((chunks * 8))
echo "find and du over $((3 * chunks)) chunks: $(since) s"
same "chunks fetched by find and du" "$(stat_value chunk_fetches_total)" 0
peak_below $((64 * 1024 + 3 * 4)) "find and du over $((3 * chunks)) chunks"

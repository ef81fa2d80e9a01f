#!/bin/bash
# Chunks of shards, one by one: right bytes, requests counted at a proxy, a shard that is replaced under readers, an index that is wrong.
. "$(dirname "$0")/functions.sh"
. "$here/s3_functions.sh"
needs getfattr

shards()
{
	"$python" "$here/shards.py" "$@"
}

shards make "$tmp/store" || exit 1
must_mount "$tmp/store" metadata_ttl=1
shards check "$mnt" || fail "bytes"
# of v, of series, of texts, and of nested the two shards
same "chunks decoded by one pass" "$(stat_value chunk_decodes_total)" $((32 + 4 + 9 + 2))
for at in "3 1" "15 3" "0 0"; do
	# shellcheck disable=SC2086 # two words
	shards page "$mnt/v" $at || fail "$at"
done
umount_store

# of a shard in a shard what holds a page is decoded, and one text costs the chunk that it is in
must_mount "$tmp/store" metadata_ttl=1
for at in "3 1" "40 2" "50 1"; do
	# shellcheck disable=SC2086 # two words
	shards page "$mnt/nested" $at || fail "$at of nested"
done
same "bytes decoded of a shard in a shard" "$(stat_value chunk_decoded_bytes_total)" $((3 * 2 * 64 * 64 * 4))
stat "$mnt/texts" >/dev/null
before=$(stat_value chunk_decodes_total)
dd if="$mnt/texts" iflag=direct bs=512 skip=3 count=1 of="$tmp/text" 2>/dev/null || fail "a text"
same "chunks decoded for a few texts" $(($(stat_value chunk_decodes_total) - before)) 1
shards write "$tmp/store" 5 &
writer=$!
shards read "$mnt/moving" 4 || fail "while a shard is replaced"
wait $writer || fail "the writer"
umount_store

# an index of a quarter of all memory is read once, and stays while its chunks are loaded
if ! sanitized; then # in which 262,144 loads take minutes
	shards dense "$tmp/dense" || exit 1
	must_mount "$tmp/dense" memory=16M
	timeout 300 "$python" "$here/shards.py" few "$mnt/dense" || fail "a shard of 262,144 chunks"
	fetched=$(stat_value chunk_fetched_bytes_total)
	[ "$fetched" -le $((6 << 20)) ] || fail "of a shard with 5 MiB $fetched bytes were fetched"
	umount_store
fi

shards damage "$tmp/store" || exit 1
must_mount "$tmp/store"
shards partly "$mnt" || fail "wrong indexes"
umount_store

begin_radosgw
s3 make bucket
s3 put "$tmp/store" bucket/store
begin_proxy

# counts WHAT WANT [WHY]: requests for shards of v since forget
counts()
{
	[ "$(requests '/v/c/')" = "$2" ] || fail "$1: $(requests '/v/c/') requests, not $2: $(asked)"
}

must_mount s3://bucket/store
forget
shards page "$mnt/v" 3 1 || fail "a page"
counts "one value" 2
shards page "$mnt/v" 6 0 || fail "another chunk of the shard"
counts "a value of another chunk of the shard" 3
shards page "$mnt/v" 9 3 || fail "another shard"
counts "a value of another shard" 5
umount_store
must_mount s3://bucket/store
forget
shards check "$mnt" || fail "bytes from S3"
same "chunks decoded by one pass over S3" "$(stat_value chunk_decodes_total)" $((32 + 4 + 9 + 2))
# four indexes, and the shards in as many parts as the kernel asks for the file
[ "$(requests '/v/c/')" -le 16 ] || fail "a pass over 32 chunks in 4 shards: $(requests '/v/c/') requests: $(asked)"
umount_store
must_mount s3://bucket/store
forget
shards series "$mnt/series" 1 || fail "a series"
same "requests for a series" "$(requests '/series/c/')" 2
same "chunks decoded for a series" "$(stat_value chunk_decodes_total)" 1
shards map "$mnt/series" 5 || fail "a map"
same "chunks decoded for a map after it" "$(stat_value chunk_decodes_total)" 4
[ "$(requests '/series/c/')" -le 5 ] || fail "a series and a map of four chunks: $(requests '/series/c/') requests: $(asked)"
umount_store

# of an array of whose chunks a page of the file holds a row, a value costs its own chunk all the same; what is read of a shard is joined
must_mount s3://bucket/store
forget
for at in "0 100 700" "3 110 710" "7 100 700"; do
	# shellcheck disable=SC2086 # three words
	shards value "$mnt/far" $at || fail "far at $at"
done
same "requests for values of one chunk among 240" "$(requests '/far/c/')" 2
same "chunks decoded for them" "$(stat_value chunk_decodes_total)" 1
shards value "$mnt/far" 3 10 500 || fail "far elsewhere"
same "requests for a chunk more" "$(requests '/far/c/')" 3
same "bytes that one map of far costs" "$(getfattr --only-values -n user.zarrfs.cost "$mnt/far" 2>/dev/null)" $((8 * 540 * 900 * 4))
forget
shards step "$mnt/far" 5 || fail "a map of far"
shards step "$mnt/far" 6 || fail "the next map"
same "chunks decoded for values and maps" "$(stat_value chunk_decodes_total)" 240
echo "maps of 240 chunks in 2 shards: $(requests '/far/c/') requests"
[ "$(requests '/far/c/')" -le 24 ] || fail "maps of 240 chunks in 2 shards: $(requests '/far/c/') requests: $(asked)"
umount_store
must_mount s3://bucket/store
forget
shards all "$mnt/far" || fail "far"
same "chunks decoded by a pass over far" "$(stat_value chunk_decodes_total)" 240
echo "a pass over 240 chunks in 2 shards: $(requests '/far/c/') requests"
[ "$(requests '/far/c/')" -le 32 ] || fail "a pass over 240 chunks in 2 shards: $(requests '/far/c/') requests: $(asked)"
umount_store
# an index that is wrong is asked for twice, however many wait for it
must_mount s3://bucket/store
stat "$mnt/bad" >/dev/null
forget
fault "kind=latency&seconds=3&match=/bad/c/"
shards apart "$mnt/bad" 5 || fail "eight chunks without an index"
calm
[ "$(requests '/bad/c/')" -le 4 ] || fail "an index that is wrong: $(requests '/bad/c/') requests: $(asked)"
umount_store
must_mount s3://bucket/store metadata_ttl=1
shards page "$mnt/v" 3 1 || fail "a page"
sleep 1.2
forget
shards page "$mnt/v" 3 1 || fail "a page again"
counts "a page again, after the TTL" 1
umount_store
exit $((failures != 0))

#!/bin/bash
# Shards that are damaged, that come in pieces or not at all, at the request for their index or at that for one of their chunks, or that are exchanged between
# the two: right bytes, or an error that says what; never wrong ones, and other chunks of the shard are read.
. "$(dirname "$0")/functions.sh"
. "$here/s3_functions.sh"

faults()
{
	"$python" "$here/shards_faults.py" "$@"
}

faults make "$tmp/store" || exit 1
must_mount "$tmp/store" endian=little
faults damaged "$mnt" || fail "damaged shards: see above"
umount_store

begin_radosgw
s3 make bucket
s3 put "$tmp/store" bucket/store
begin_proxy
export PROXY
# what goes wrong once is asked for again within the timeout, on a busy machine too
must_mount s3://bucket/store endian=little,timeout=20,metadata_ttl=600
faults once "$mnt" || fail "faults that end, from S3: see above"
umount_store
must_mount s3://bucket/store endian=little,timeout=6,metadata_ttl=600
for what in always changed; do
	faults $what "$mnt" || fail "$what, from S3: see above"
done
umount_store

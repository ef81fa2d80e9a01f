#!/bin/bash
# A second implementation of S3, OpenStack Swift, which insists on the region: it is found where no option says it; names, listings and
# errors as it spells them.
. "$(dirname "$0")/functions.sh"
. "$here/s3_functions.sh"

store=s3://bucket/a/store.zarr
"$python" "$here/s3.py" store "$tmp/store.zarr" "$tmp/want" || exit 1
"$python" "$here/s3.py" odd "$tmp/odd" "$tmp/odd-want" || exit 1
rm -r "$tmp/odd/nested" "$tmp/odd-want/nested"
begin_swift
s3 make bucket
s3 put "$tmp/store.zarr" bucket/a/store.zarr
s3 put "$tmp/odd" bucket/odd
s3 make written
# it refuses conditions, and that is said
ZARRFS_TEST_S3=$S3_ENDPOINT/written "${ZARRFS_WRITE_BATTERY:-$here/../../build/test/unit/test_write_battery}" 2>"$tmp/said" || fail "$(grep -v '^trace: ' "$tmp/said")"

begin_proxy
must_mount "$store#aws.region=$S3_REGION"
same_files "$mnt" "$tmp/want" "region in the URL"
umount_store
forget
must_mount $store
same_files "$mnt" "$tmp/want" "region found"
[ "$(requests ' 400 ')" -le 6 ] || fail "the region was asked for $(requests ' 400 ') times" # by those that were under way together
umount_store
must_mount s3://bucket "region=somewhere-else-1"
same_files "$mnt/a/store.zarr" "$tmp/want" "region corrected"
same_files "$mnt/odd" "$tmp/odd-want" "odd names"
same "ls" "$(ls "$mnt" "$mnt/a")" "$(printf '%s\n' "$mnt:" a odd '' "$mnt/a:" store.zarr)"
umount_store
must_mount s3://bucket/a "timeout=30"
fault "kind=status&every=5"
fault "kind=truncate&after=500&every=7"
same_files "$mnt/store.zarr" "$tmp/want" "with faults"
umount_store
calm
AWS_SECRET_ACCESS_KEY=wrong refused $store "" 'SignatureDoesNotMatch'
refused s3://nobodys-bucket/x "" 'NoSuchBucket|nobodys-bucket'

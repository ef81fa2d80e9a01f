#!/bin/bash
# What is asked of an S3 server, counted at a proxy: one request to open, one for an array's own metadata, one a chunk; listings of
# 500 variables and of 100,000 keys cost what they must, and little memory.
. "$(dirname "$0")/functions.sh"
. "$here/s3_functions.sh"

keys=100000
sanitized && keys=20000
"$python" "$here/s3.py" store "$tmp/store.zarr" "$tmp/want" || exit 1
"$python" "$here/s3.py" many "$tmp/many.zarr" 500 || exit 1
begin_radosgw
s3 make bucket
s3 put "$tmp/store.zarr" bucket/store.zarr
s3 put "$tmp/many.zarr" bucket/many.zarr
s3 put "$here/s3.py" bucket/prefix/key-000000
"$python" "$here/s3.py" index "$S3_CEPH" bucket prefix/key-000000 $keys || fail "the index"
begin_proxy

# counts WHAT WANT [REGEX]: requests since forget
counts()
{
	[ "$(requests "${3:-.}")" = "$2" ] || fail "$1: $(requests "${3:-.}") requests, not $2: $(asked)"
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

forget
must_mount s3://bucket/many.zarr
same "lines of ls -l" "$(ls -l "$mnt" | grep -c '^-.* v[0-9]*$')" 500
[ "$(requests)" -le 2 ] || fail "mount and ls -l of 500 variables: $(requests) requests: $(asked)"
umount_store

forget
must_mount s3://bucket
ls "$mnt" >"$tmp/list"
same "ls of a bucket" "$(cat "$tmp/list")" "$(printf '%s\n' many.zarr prefix store.zarr)"
[ "$(requests)" -le 8 ] || fail "mount and ls of a bucket: $(requests) requests: $(asked)"
[ "$(requests 'list-type=2')" -le 2 ] || fail "mount and ls of a bucket: $(requests 'list-type=2') listings"
before=$(awk '$1 == "VmRSS:" { print $2 }' "/proc/$daemon/status")
forget
same "ls of $keys keys" "$(ls -U --color=never "$mnt/prefix" | grep -c .)" $keys
pages=$(requests 'prefix=prefix%2F')
[ "$pages" -le $((keys / 1000 + 2)) ] || fail "ls of $keys keys: $pages pages"
[ "$(requests)" -le $((keys / 1000 + 6)) ] || fail "ls of $keys keys: $(requests) requests: $(asked | cut -c1-200 | sort | uniq -c | sort -rn | head)"
grew=$(($(peak_memory) - before))
echo "ls of $keys keys: $(requests) requests, $grew KiB more memory"
sanitized || [ $grew -le 16384 ] || fail "ls of $keys keys took $grew KiB more memory"
umount_store

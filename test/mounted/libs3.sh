#!/bin/bash
# The other transport of S3: the same bytes, by signatures of version 2; its own weaknesses are refused or made good.
# shellcheck disable=SC2012 # names here have no newlines
. "$(dirname "$0")/functions.sh"
. "$here/s3_functions.sh"

store=s3://bucket/store.zarr
"$ZARRFS" --ls -o transport=libs3 "$store" >"$tmp/said" 2>&1
if grep -q "no kind of store 'libs3'" "$tmp/said"; then
	skip "built without libs3"
fi
"$python" "$here/s3.py" store "$tmp/store.zarr" "$tmp/want" || exit 1
begin_radosgw
s3 make bucket
s3 put "$tmp/store.zarr" bucket/store.zarr
s3 put "$tmp/store.zarr" "bucket/with space.zarr"
begin_proxy

must_mount $store transport=libs3
same_files "$mnt" "$tmp/want" "by libs3"
(cd "$mnt" && find . -type f | LC_ALL=C sort) >"$tmp/list"
umount_store
must_mount $store
(cd "$mnt" && find . -type f | LC_ALL=C sort) | cmp - "$tmp/list" || fail "libs3 lists other files"
umount_store
[ "$(curl -s "$PROXY/-/counts" | sed 's/.*"connections": *\([0-9]*\).*/\1/')" -lt 200 ] || fail "connections are not used again"

# every request is signed by version 2
forget
fault "kind=status&status=400&code=OldSignatureExpected&head=AWS4-HMAC-SHA256"
must_mount $store transport=libs3,connections=4
cmp "$mnt/plain" "$tmp/want/plain" || fail "a server that knows old signatures only cannot be read from"
calm
umount_store

# faults: libs3 takes a body that broke off for a whole one, and tries nothing again
recovers()
{
	must_mount $store transport=libs3,timeout=50
	forget
	fault "$1"
	cmp "$mnt/packed" "$tmp/want/packed" || fail "$1: $(cat "$mnt/.zarrfs/log")"
	[ "$(requests ' (status|reset|truncate|stall)$')" -gt 0 ] || fail "$1: no fault was met"
	calm
	umount_store
}
# nor are names lost where a listing breaks off
must_mount s3://bucket/store.zarr/plain transport=libs3,list=flat
ls "$mnt/.store" | LC_ALL=C sort >"$tmp/names"
umount_store
for after in 200 700 1200 1500; do
	must_mount s3://bucket/store.zarr/plain transport=libs3,list=flat
	forget
	fault "kind=truncate&after=$after&match=delimiter&count=1"
	ls "$mnt/.store" | LC_ALL=C sort >"$tmp/some"
	[ "$(requests ' truncate$')" -gt 0 ] || fail "no listing broke off"
	cmp "$tmp/some" "$tmp/names" || fail "a listing that broke off after $after bytes: $(asked)"
	calm
	umount_store
done

# names that libs3 garbles are listed all the same, below a prefix and in the bucket itself
"$python" "$here/s3.py" odd "$tmp/odd.zarr" "$tmp/odd"
s3 put "$tmp/odd.zarr" "bucket/odd.zarr"
s3 make bare
for name in 'a&b' 'aé' 'é'; do
	s3 put "$tmp/store.zarr/lat" "bare/$name"
	s3 put "$tmp/store.zarr/lat/0" "bare/x$name"
done
for at in s3://bucket/odd.zarr s3://bucket/odd.zarr/flat s3://bucket/odd.zarr/nested s3://bare; do
	"$ZARRFS" --ls "$at" | grep -v ' .*\.nc$' >"$tmp/names" # for which keys with spaces are read
	"$ZARRFS" -o transport=libs3 --ls "$at" | cmp - "$tmp/names" || fail "libs3 lists other names in $at"
done

recovers "kind=truncate&after=1000&every=3"
recovers "kind=reset&after=1000&every=5"
recovers "kind=status&status=503&code=SlowDown&every=4"
recovers "kind=status&status=500&code=InternalError&count=3"

must_mount $store transport=libs3,timeout=4
ls -l "$mnt" >/dev/null
fault "kind=stall"
before=$SECONDS
cat "$mnt/packed" >/dev/null 2>"$tmp/said" && fail "a server that says nothing gave data"
[ $((SECONDS - before)) -le 7 ] || fail "it took $((SECONDS - before)) s with timeout=4"
umount_store
calm
must_mount $store transport=libs3,timeout=30
fault "kind=stall&match=plain"
cat "$mnt/plain" >/dev/null 2>&1 &
reader=$!
disown
sleep 0.5
kill -9 $reader
eventually 5 ended $reader || fail "a reader under kill -9 is still there after 5 s"
before=$SECONDS
umount_store
[ $((SECONDS - before)) -le 6 ] || fail "umount took $((SECONDS - before)) s"
calm

# two servers may have buckets of one name: what is kept of one is not shown for the other's
kept=transport=libs3,cache_dir=$tmp/kept,metadata_ttl=immutable
AWS_ENDPOINT_URL_S3=$S3_ENDPOINT must_mount $store "$kept"
cmp "$mnt/plain" "$tmp/want/plain" || fail "with a disk cache"
umount_store
forget
must_mount $store "$kept"
cmp "$mnt/plain" "$tmp/want/plain" || fail "with a disk cache, from another server"
[ "$(requests)" -gt 3 ] || fail "copies of one server's objects are shown for another's"
umount_store

# what it cannot do
refused "$store" transport=libs3,profile=anon 'without keys'
AWS_SESSION_TOKEN=token refused "$store" transport=libs3 'token of a session'
AWS_ENDPOINT_URL_S3=$S3_TLS refused "$store" "transport=libs3,ca_bundle=$S3_CA" 'verify certificates'
refused "s3://bucket/with space.zarr" transport=libs3 'a space'
AWS_SECRET_ACCESS_KEY=wrong refused "$store" transport=libs3 '(SignatureDoesNotMatch|AccessDenied).*with the keys of .AWS_ACCESS_KEY_ID'

AWS_ENDPOINT_URL_S3=$S3_TLS must_mount "$store" transport=libs3,tls_verify=false
cmp "$mnt/plain" "$tmp/want/plain" || fail "https without verification differs"
umount_store

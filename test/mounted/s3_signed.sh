#!/bin/bash
# What a signature is made of, seen by a server that checks it: keys that expire in the middle of a read, a clock that is wrong, a requester that pays,
# and a proxy on the way.
. "$(dirname "$0")/functions.sh"
. "$here/s3_functions.sh"

store=s3://bucket/store.zarr
begin_bucket

# --- keys of a session that expire in the middle of a read, as the server has it and as they say themselves

mkdir "$HOME/.aws"
printf '[default]\ncredential_process = sh -c "echo >>%s/fetched; cat %s/keys"\n' "$tmp" "$tmp" >"$HOME/.aws/config"
unsign
begin_proxy "$S3_STS"
for code in ExpiredToken InvalidAccessKeyId; do
	session first
	session second
	id=$(sed -n 's/^AWS_ACCESS_KEY_ID=//p' "$tmp/first")
	[ "$id" != "$(sed -n 's/^AWS_ACCESS_KEY_ID=//p' "$tmp/second")" ] || fail "both sessions have the same key"
	cp "$tmp/first.json" "$tmp/keys"
	must_mount $store connections=2
	cp "$tmp/second.json" "$tmp/keys"
	fault "kind=status&status=403&code=$code&head=Credential=$id&match=plain/[0-9]&skip=8"
	forget
	cmp "$mnt/plain" "$tmp/want/plain" || fail "$code: $(cat "$mnt/.zarrfs/log")"
	refused=$(requests ' 403 .* status$')
	[ "$refused" -gt 0 ] || fail "$code: the keys did not expire"
	[ "$refused" -le 4 ] || fail "$code: $refused requests with keys that have expired"
	same "$code: the log" "$(cat "$mnt/.zarrfs/log")" ""
	calm
	umount_store
	grep -qF "$(sed -n 's/^AWS_SECRET_ACCESS_KEY=//p' "$tmp/second")" "$log" && fail "the messages show a secret"
done

# five minutes before they expire: fetched, once, while requests go on
session first 290
session second
id=$(sed -n 's/^AWS_ACCESS_KEY_ID=//p' "$tmp/first")
cp "$tmp/first.json" "$tmp/keys"
: >"$tmp/fetched"
must_mount $store
cp "$tmp/second.json" "$tmp/keys"
sleep 10.5
cmp "$mnt/lat" "$tmp/want/lat" || fail "keys that expire soon: $(cat "$mnt/.zarrfs/log")"
# shellcheck disable=SC2317 # by eventually
fetched_again()
{
	[ "$(wc -l <"$tmp/fetched")" -ge 2 ]
}
eventually 60 fetched_again || fail "keys that expire soon are not fetched"
fault "kind=latency&seconds=0&head=Credential=$id"
# shellcheck disable=SC2317 # by eventually
uses_new_keys()
{
	forget
	cat "$mnt/.zarrfs/refresh" >/dev/null
	[ "$(requests)" -gt 0 ] && [ "$(requests ' latency$')" = 0 ]
}
eventually 60 uses_new_keys || fail "keys that were fetched are not used"
forget
cmp "$mnt/packed" "$tmp/want/packed" || fail "keys that expire soon: $(cat "$mnt/.zarrfs/log")"
same "how often keys were fetched" "$(wc -l <"$tmp/fetched")" 2
same "requests with the old keys" "$(requests ' latency$')" 0
calm
umount_store
rm -r "$HOME/.aws"
sign
end_proxy
begin_proxy

# --- the requester pays

for sign in 'x-amz-request-payer: requester' 'SignedHeaders=.*;x-amz-request-payer'; do
	forget
	fault "kind=status&status=403&head=$sign"
	must_mount $store
	cmp "$mnt/plain" "$tmp/want/plain" || fail "plain"
	umount_store
	same "requests that say who pays, unasked" "$(requests ' status$')" 0
	refused $store requester_pays 'AccessDenied'
	calm
done
must_mount $store requester_pays # signed as it should be: the server checks that
cmp "$mnt/plain" "$tmp/want/plain" || fail "requester_pays"
umount_store

# --- a proxy of the environment, for a port without a server

forget
http_proxy=$PROXY AWS_ENDPOINT_URL_S3=http://127.0.0.1:1 must_mount $store
cmp "$mnt/plain" "$tmp/want/plain" || fail "by a proxy"
[ "$(requests '^GET http://127.0.0.1:1/bucket/store.zarr/plain/')" -ge 24 ] || fail "the proxy was not asked: $(asked | head -3)"
umount_store
http_proxy=$PROXY no_proxy=127.0.0.1 AWS_ENDPOINT_URL_S3=http://127.0.0.1:1 refused $store timeout=4 'onnect'

# --- a clock that is two hours wrong, either way

if sanitized || ! command -v cc >/dev/null; then
	exit $((failures != 0))
fi
cat >"$tmp/clock.c" <<'END'
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdlib.h>
#include <time.h>
int
clock_gettime(clockid_t id, struct timespec *t)
{
	int (*real)(clockid_t, struct timespec *) = (int (*)(clockid_t, struct timespec *))dlsym(RTLD_NEXT, "clock_gettime");
	int r = real(id, t);
	if (id == CLOCK_REALTIME)
		t->tv_sec += atoi(getenv("AHEAD"));
	return r;
}
END
cc -shared -fPIC -o "$tmp/clock.so" "$tmp/clock.c" -ldl || fail "no clock"
for ahead in 7200 -7200; do
	forget
	AHEAD=$ahead LD_PRELOAD=$tmp/clock.so must_mount $store
	cmp "$mnt/plain" "$tmp/want/plain" || fail "a clock $ahead s ahead: $(cat "$mnt/.zarrfs/log")"
	same "requests refused for a clock $ahead s ahead" "$(requests ' 403 ')" 1
	umount_store
done

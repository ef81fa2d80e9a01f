#!/bin/bash
# Credentials: a program that hands them out, keys that are revoked and tokens that expire while reading, a clock that is wrong,
# requester pays, netcdf-c's rc file; and that none of them is ever shown.
. "$(dirname "$0")/functions.sh"
. "$here/s3_functions.sh"

store=s3://bucket/store.zarr
begin_bucket
begin_proxy
unsign
mkdir -p "$HOME/.aws"

# hand_out KEY SECRET [TOKEN [SECONDS]]: what the program says from now on; keys that expire do so after SECONDS
hand_out()
{
	local until=
	[ -z "${4:-}" ] || until=", \"Expiration\": \"$(date -u -d "+$4 seconds" +%Y-%m-%dT%H:%M:%SZ)\""
	printf '{"Version": 1, "AccessKeyId": "%s", "SecretAccessKey": "%s"%s%s}\n' "$1" "$2" "${3:+, \"SessionToken\": \"$3\"}" "$until" >"$tmp/keys.new"
	mv "$tmp/keys.new" "$tmp/keys"
}

# admin WORD...: radosgw-admin
admin()
{
	radosgw-admin -c "$S3_CEPH" "$@" >"$tmp/admin" 2>&1 || fail "radosgw-admin $*: $(cat "$tmp/admin")"
}

# unseen SECRET...: none of them is in anything that the mount or its process shows
unseen()
{
	local secret
	{
		cat "$log" "$mnt/.zarrfs/log" "$mnt/.zarrfs/config" "$mnt/.zarrfs/stats" "/proc/$daemon/cmdline" "/proc/$daemon/comm"
		grep -F " $mnt " /proc/self/mountinfo
	} >"$tmp/shown"
	for secret; do
		grep -aqF -- "$secret" "$tmp/shown" && fail "'$secret' is shown: $(grep -aF -m 1 -- "$secret" "$tmp/shown")"
	done
}

printf '#!/bin/sh\necho >>%q\ncat %q\n' "$tmp/calls" "$tmp/keys" >"$tmp/give keys"
chmod +x "$tmp/give keys"
printf '[profile given]\ncredential_process = "%s" --now\n' "$tmp/give keys" >"$HOME/.aws/config"

# --- a program, and keys that are revoked

hand_out "$S3_KEY" "$S3_SECRET"
must_mount $store profile=given,loglevel=debug
same_files "$mnt" "$tmp/want" "keys from a program"
same "how often it ran" "$(wc -l <"$tmp/calls")" 1
unseen "$S3_SECRET"
umount_store

admin key create --uid=test --access-key=SECONDKEY --secret-key=second+secret
hand_out SECONDKEY second+secret
must_mount $store profile=given
cmp "$mnt/lat" "$tmp/want/lat" || fail "lat"
admin key rm --uid=test --access-key=SECONDKEY
admin key create --uid=test --access-key=THIRDKEY --secret-key=third/secret
hand_out THIRDKEY third/secret
same_files "$mnt" "$tmp/want" "keys that changed"
unseen second+secret third/secret
hand_out THIRDKEY wrong
umount_store

# --- tokens that expire

read -r -d '' -a first < <("$tools/s3" token | sed 's/^[^=]*=//')
read -r -d '' -a second < <("$tools/s3" token | sed 's/^[^=]*=//')
hand_out "${first[@]}"
end_proxy
begin_proxy "$S3_STS"
must_mount $store profile=given,loglevel=debug
cmp "$mnt/lat" "$tmp/want/lat" || fail "lat"
hand_out "${second[@]}"
fault "kind=status&status=400&code=ExpiredToken&head=Credential=${first[0]}/"
same_files "$mnt" "$tmp/want" "a token that expired"
unseen "${first[@]:1}" "${second[@]:1}"
umount_store
calm

rm "$tmp/calls"
last=$((SECONDS + 20)) # keys that have expired when they are fetched would be tried all the same
hand_out "${first[@]}" 20
must_mount $store profile=given
cmp "$mnt/lat" "$tmp/want/lat" || fail "lat"
hand_out "${second[@]}" 900
until [ $SECONDS -gt $last ]; do sleep 0.1; done
forget
fault "kind=status&status=400&code=ExpiredToken&head=Credential=${first[0]}/"
same_files "$mnt" "$tmp/want" "keys with a date"
same "requests with keys that were known to have expired" "$(requests ' status$')" 0
[ "$(wc -l <"$tmp/calls")" -le 6 ] || fail "the program ran $(wc -l <"$tmp/calls") times"
umount_store
calm

rm "$tmp/keys"
refused $store profile=given,timeout=10 'credential_process|give keys'

# --- netcdf-c's rc file; requester pays

end_proxy
begin_proxy "$S3_ENDPOINT"
printf '[work]\naws_access_key_id = %s\naws_secret_access_key = %s\n' "$S3_KEY" "$S3_SECRET" >"$HOME/.aws/credentials"
printf 'HTTP.TIMEOUT=10\nAWS.PROFILE=work\n' >"$HOME/.ncrc"
must_mount $store
cmp "$mnt/lat" "$tmp/want/lat" || fail "the profile of .ncrc"
unseen "$S3_SECRET"
umount_store
rm "$HOME/.ncrc"
sign
fault 'kind=status&status=403&head=(?s)^(?!.*x-amz-request-payer)'
must_mount $store requester_pays
cmp "$mnt/lat" "$tmp/want/lat" || fail "requester pays"
umount_store
calm

# --- what a trace shows

forget
must_mount trace+$store loglevel=debug
cmp "$mnt/packed" "$tmp/want/packed" || fail "packed"
# shellcheck disable=SC2317 # by eventually
all_traced()
{
	[ "$(grep -c '^trace: ' "$log")" = "$(requests)" ]
}
eventually 60 all_traced || fail "$(grep -c '^trace: ' "$log") lines of the trace of $(requests) requests"
fault 'kind=status&status=403&match=checked'
cat "$mnt/checked" >/dev/null 2>&1 && fail "403 gives data"
unseen "$S3_SECRET" Signature=
umount_store
calm

# --- a clock that is wrong by more than the quarter of an hour that servers bear

clock=$(find /usr/lib -name libfaketimeMT.so.1 2>/dev/null | head -n 1)
if [ -n "$clock" ] && ! sanitized; then
	for wrong in -3600 +3600; do
		LD_PRELOAD=$clock DONT_FAKE_MONOTONIC=1 FAKETIME=$wrong must_mount $store
		same_files "$mnt" "$tmp/want" "a clock $wrong s wrong"
		umount_store
	done
fi

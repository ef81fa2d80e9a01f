#!/bin/bash
# Stores on a real S3 server: the ways to name them, to sign, and to be refused; names with odd characters; a whole bucket.
. "$(dirname "$0")/functions.sh"
. "$here/s3_functions.sh"

"$python" "$here/s3.py" store "$tmp/store.zarr" "$tmp/want" || exit 1
"$python" "$here/s3.py" odd "$tmp/odd" "$tmp/odd-want" || exit 1
begin_radosgw
s3 make bucket
s3 put "$tmp/store.zarr" bucket/a/store.zarr
s3 make open public
STORES_FORM=shards "$python" "$here/s3.py" store "$tmp/shards.zarr" "$tmp/want" || exit 1
s3 put "$tmp/shards.zarr" bucket/a/shards.zarr
S3_PUBLIC=1 s3 put "$tmp/store.zarr" open/store.zarr

# shows WHAT STORE [OPTIONS]: the store is mounted and shows what it must
shows()
{
	must_mount "$2" "${3:-}"
	same_files "$mnt" "$tmp/want" "$1"
	umount_store
}

# --- names of stores

port=${S3_ENDPOINT##*:}
shows "s3://bucket/key" s3://bucket/a/store.zarr
shows "shards" s3://bucket/a/shards.zarr
shows "endpoint and region in the URL" "s3://bucket/a/store.zarr#mode=zarr,s3&aws.endpoint=$S3_ENDPOINT&aws.region=eu-west-9"
shows "host and bucket in the URL" "http://127.0.0.1:$port/bucket/a/store.zarr#mode=zarr,s3"
shows "the bucket as host" "http://bucket.$S3_DOMAIN/a/store.zarr#mode=zarr,s3" addressing=virtual
AWS_ENDPOINT_URL_S3=http://$S3_DOMAIN shows "the bucket as host" s3://bucket/a/store.zarr addressing=virtual
GS_ACCESS_KEY_ID=$S3_KEY GS_SECRET_ACCESS_KEY=$S3_SECRET shows "gs:// with keys" "gs://bucket/a/store.zarr" "endpoint=$S3_ENDPOINT"
shows "gs:// without keys" gs://open/store.zarr "endpoint=$S3_ENDPOINT"
shows "gs3:// without keys" "gs3://open/store.zarr#aws.profile=no" "endpoint=$S3_ENDPOINT"
same "--cat" "$("$ZARRFS" --cat s3://bucket/a/store.zarr deep/er/few | sha256sum)" "$(sha256sum <"$tmp/want/deep/er/few")"
must_mount s3://bucket/a/store.zarr/packed
cmp "$mnt/packed" "$tmp/want/packed" || fail "a single array"
umount_store
refused s3://bucket/a/nothing.zarr "" 'nothing'
refused s3://nobodys-bucket/a "" 'NoSuchBucket|nobodys-bucket'
refused s3://bucket/a/store.zarr/.zmetadata "" 'is a part of a store'
refused s3://bucket/a/store.zarr/lat/0 "" "'s3://bucket/a/store.zarr/lat/0' is one object, and no Zarr store"
refused s3://bucket/a/store.zarr "endpoint=127.0.0.1:$port" "has no scheme: write 'https://127.0.0.1:$port'"

# --- signatures

AWS_SECRET_ACCESS_KEY=$S3_SECRET.wrong refused s3://bucket/a/store.zarr "" 'SignatureDoesNotMatch.*keys of .AWS_ACCESS_KEY_ID'
AWS_ACCESS_KEY_ID=unheardof refused s3://bucket/a/store.zarr "" 'InvalidAccessKeyId|AccessDenied'
unsign
refused s3://bucket/a/store.zarr "" 'credentials|profile'
shows "anonymously" "s3://open/store.zarr#aws.profile=no"
shows "anonymously, as an option" s3://open/store.zarr profile=none
refused "s3://bucket/a/store.zarr#aws.profile=none" "" '(403|AccessDenied).*without keys'
refused "s3://$S3_KEY:$S3_SECRET@bucket/a/store.zarr" "" '.'

mkdir -p "$HOME/.aws"
printf '[default]\naws_access_key_id = nobody\naws_secret_access_key = x\n[work]\naws_access_key_id = %s\naws_secret_access_key = %s\n' \
	"$S3_KEY" "$S3_SECRET" >"$HOME/.aws/credentials"
shows "a profile in the URL" "s3://bucket/a/store.zarr#aws.profile=work"
shows "a profile as an option" s3://bucket/a/store.zarr profile=work
AWS_PROFILE=work shows "a profile in the environment" s3://bucket/a/store.zarr
refused s3://bucket/a/store.zarr "" "403.*with the keys of profile 'default' of ~/.aws"
refused s3://bucket/a/store.zarr profile=nowhere "nowhere"
rm -r "$HOME/.aws"

session=$("$tools/s3" token) || fail "no session token"
while IFS='=' read -r name value; do
	export "$name=$value"
done <<<"$session"
AWS_ENDPOINT_URL_S3=$S3_STS shows "a session token" s3://bucket/a/store.zarr
AWS_SESSION_TOKEN=${AWS_SESSION_TOKEN%????}AAAA AWS_ENDPOINT_URL_S3=$S3_STS refused s3://bucket/a/store.zarr "" '40[03]'
sign

# --- certificates

export AWS_ENDPOINT_URL_S3=$S3_TLS
AWS_CA_BUNDLE=$S3_CA shows "https" s3://bucket/a/store.zarr
AWS_CA_BUNDLE=$S3_CA shows "https with the bucket as host" "https://bucket.${S3_DOMAIN%:*}:${S3_TLS##*:}/a/store.zarr#mode=s3" addressing=virtual
refused s3://bucket/a/store.zarr timeout=10 'certificate'
AWS_CA_BUNDLE=$S3_STRANGER refused s3://bucket/a/store.zarr timeout=10 'certificate'
AWS_CA_BUNDLE=$tmp/no-such-file refused s3://bucket/a/store.zarr timeout=10 'no-such-file|certificate'
export AWS_ENDPOINT_URL_S3=$S3_ENDPOINT

# --- names of nodes

s3 put "$tmp/odd" bucket/odd
must_mount s3://bucket/odd
same "names" "$(cd "$mnt" && find . -type f ! -name '*.nc' ! -name '*.cdl' | sort)" "$(cd "$tmp/odd-want" && find . -type f | sort)"
same_files "$mnt" "$tmp/odd-want" "odd names"
umount_store
must_mount "s3://bucket/odd/flat/a%20b"
cmp "$mnt/a b" "$tmp/odd-want/flat/a b" || fail "an odd name in the URL"
umount_store

# --- a bucket with more in it

mkdir -p "$tmp/more/sub folder/x"
head -c 300000 /dev/urandom >"$tmp/more/sub folder/x/plain.bin"
printf 'hello\n' >"$tmp/more/README.txt"
s3 put "$tmp/more" bucket/
must_mount s3://bucket
same "ls of a bucket" "$(ls "$mnt")" "$(printf '%s\n' README.txt a odd 'sub folder')"
cmp "$mnt/sub folder/x/plain.bin" "$tmp/more/sub folder/x/plain.bin" || fail "a plain object"
same "a piece of a plain object" "$(tail -c +200001 "$mnt/sub folder/x/plain.bin" | head -c 1000 | sha256sum)" \
	"$(tail -c +200001 "$tmp/more/sub folder/x/plain.bin" | head -c 1000 | sha256sum)"
same_files "$mnt/a/store.zarr" "$tmp/want" "a store in a bucket"
same_files "$mnt/odd" "$tmp/odd-want" "odd names in a bucket"
[ -d "$mnt/a/store.zarr/deep" ] || fail "a group is no directory"
ls "$mnt/nothing" 2>/dev/null && fail "there is 'nothing'"
umount_store

# --- folders without a name in them: a marker, as consoles and Hadoop make it, and "a//b"

: >"$tmp/marker"
s3 make folders
s3 put "$tmp/marker" folders/empty/
s3 put "$tmp/marker" folders/deep/empty/
refused s3://folders/empty "" "'s3://folders/empty' is empty: at most the marker of a folder is there"
refused s3://folders/nothing "" "there is nothing at 's3://folders/nothing'"
s3 put "$tmp/more/README.txt" folders/full/
s3 put "$tmp/more/README.txt" folders/full/README.txt
s3 put "$tmp/more/README.txt" folders/slashes//README.txt
folders=$(printf '%s\n' 'd deep' 'd deep/empty' 'd empty' 'd full' '- full/README.txt' 'd slashes')
for transport in "" transport=libs3; do
	if ! mount_store s3://folders $transport; then
		eventually 60 grep -q "no kind of store 'libs3'" "$log" || fail "folders: $(cat "$log")"
		mounts["$mnt"]=
		continue
	fi
	same "ls -lR of folders, $transport" "$(cd "$mnt" && find . -mindepth 1 -printf '%M %P\n' 2>&1 | sed 's/^\(.\)[^ ]*/\1/' | sort -k 2)" \
		"$folders"
	ls "$mnt/nothing" 2>/dev/null && fail "there is 'nothing' among folders"
	umount_store
done

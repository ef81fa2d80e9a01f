#!/bin/bash
# What programs write to a bucket whose server fails, breaks off, takes what it does not answer to, stalls, refuses and lets keys expire: what was told to
# be stored is, and of what is not an error was told that is explained; after a refresh it can be written. In objects that are chunks, and in shards.
. "$(dirname "$0")/functions.sh"
. "$here/s3_functions.sh"

"$python" -c 'import zarr, numcodecs' 2>/dev/null || skip "no zarr-python"
begin_radosgw
s3 make bucket
begin_proxy "$S3_STS"
export PROXY
session first
session second
mkdir "$HOME/.aws"
printf '[default]\ncredential_process = cat %s/keys\n' "$tmp" >"$HOME/.aws/config"
options=rw,unlimited=time
for form in v2 shards; do
	export STORES_FORM=$form
	"$python" "$here/write_s3_faults.py" make "$tmp/$form" || exit 1
	s3 put "$tmp/$form" "bucket/$form"
	cp "$tmp/first.json" "$tmp/keys"
	places=()
	unsign
	must_mount "s3://bucket/$form" "$options,timeout=60"
	places+=("$mnt")
	sign
	must_mount "s3://bucket/$form" "$options,timeout=2"
	places+=("$mnt")
	for more in $options ro; do
		AWS_ENDPOINT_URL_S3=$S3_ENDPOINT must_mount "s3://bucket/$form" "$more"
		places+=("$mnt")
	done
	"$python" "$here/write_s3_faults.py" run "$form" "${places[@]}" "$tmp" || fail "$form"
	for at in "${places[@]}"; do
		umount_store "$at"
	done
done

# what cannot be stored when the store is unmounted
must_mount s3://bucket/shards "$options,timeout=2"
fault "kind=status&match=PUT .*/whole/"
printf new | dd of="$mnt/whole" conv=notrunc status=none 2>/dev/null && fail "told to be stored, with a server that refuses it"
mounts[$mnt]=
unmount "$mnt"
wait "$daemon" && fail "unmounted with status 0, though something was not stored"
grep -q "whole" "$log" || fail "unmounted, and what was not stored is not named: $(cat "$log")"
calm
must_mount s3://bucket/shards "$options"
printf new | dd of="$mnt/whole" conv=notrunc status=none || fail "after another mount it cannot be written"
umount_store
must_mount s3://bucket/shards
same "what was written after another mount" "$(head -c 3 "$mnt/whole")" new

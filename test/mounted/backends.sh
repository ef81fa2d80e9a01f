#!/bin/bash
# The same files with the same bytes, whether a store is a directory, a zip file, in S3 or behind plain HTTP, and from a zip file there.
. "$(dirname "$0")/functions.sh"
. "$here/s3_functions.sh"

"$python" "$here/s3.py" store "$tmp/store.zarr" "$tmp/want" || exit 1
"$python" - "$tmp" <<'END_OF_ZIP' || exit 1
import os, sys, zipfile
for name, method in ("stored", zipfile.ZIP_STORED), ("deflated", zipfile.ZIP_DEFLATED):
    with zipfile.ZipFile(os.path.join(sys.argv[1], name + ".zip"), "w", method) as archive:
        for folder, _, files in os.walk(os.path.join(sys.argv[1], "store.zarr")):
            for file in files:
                path = os.path.join(folder, file)
                archive.write(path, os.path.relpath(path, os.path.join(sys.argv[1], "store.zarr")))
END_OF_ZIP
begin_radosgw
s3 make bucket public
export S3_PUBLIC=1
s3 put "$tmp/store.zarr" bucket/store.zarr
for kind in stored deflated; do
	s3 put "$tmp/$kind.zip" bucket/$kind.zip
done

# sums STORE [OPTIONS]: names, sizes and hashes of every file, attributes too
sums()
{
	must_mount "$@"
	(cd "$mnt" && find . -type f -exec sha256sum {} + | sort -k 2 && find . -type f -printf '%p %s\n' | sort && getfattr -dR . 2>/dev/null | sort)
	umount_store
}

sums "$tmp/store.zarr" >"$tmp/of-dir"
[ "$(wc -l <"$tmp/of-dir")" -gt 20 ] || fail "the directory shows only $(cat "$tmp/of-dir")"
while read -r store; do
	sums "$store" >"$tmp/got"
	diff "$tmp/of-dir" "$tmp/got" || fail "$store"
done <<END_OF_STORES
$tmp/stored.zip
$tmp/deflated.zip
s3://bucket/store.zarr
$S3_ENDPOINT/bucket/store.zarr#mode=zarr
s3://bucket/stored.zip
s3://bucket/deflated.zip
$S3_ENDPOINT/bucket/stored.zip#mode=zarr,zip
END_OF_STORES

#!/bin/bash
# The Zarr V3 stores of the conformance corpus, where there is one: mounted from above, from one zip archive of all and from S3, and the zip
# archive among them, they give the bytes that they are known to hold.
. "$(dirname "$0")/functions.sh"
. "$here/s3_functions.sh"

needs zip
find_corpus
mkdir "$tmp/v3"
tar -C "$tmp/v3" -xJf "$corpus/zarr-v3.tar.xz" || exit 1
rows()
{
	"$python" "$here/corpus.py" "$corpus/expected.tsv" "$tmp/v3" "$mnt" "$2" synthetic_v3 || fail "$1"
}
must_mount "$tmp/v3" endian=little
rows "rows differ" ""
umount_store
(cd "$tmp/v3" && zip -q -r "$tmp/all.zip" synthetic_v3) || fail "zip"
must_mount "$tmp/all.zip" endian=little
rows "rows from an archive differ" ""
umount_store
must_mount "$tmp/v3/synthetic_v3/zip_v3.zarr.zip" endian=little
rows "rows of the archive differ" synthetic_v3/zip_v3.zarr.zip
umount_store

begin_radosgw
s3 make corpus public
export S3_PUBLIC=1
s3 put "$tmp/v3/synthetic_v3" corpus/synthetic_v3
must_mount s3://corpus endian=little
rows "rows from S3 differ" ""
umount_store
exit $((failures != 0))

#!/bin/bash
# The conformance corpus, where there is one, from S3: every V2 store in it, below one mount of the bucket, gives the bytes it is known to hold.
# ZARRFS_CORPUS is as for corpus.sh.
. "$(dirname "$0")/functions.sh"
. "$here/s3_functions.sh"

corpus=${ZARRFS_CORPUS:-$here/../../../shared/corpus}
[ -f "$corpus/expected.tsv" ] || skip "no corpus in ${ZARRFS_CORPUS:-ZARRFS_CORPUS}"
stores=$corpus
if [ ! -d "$corpus/synthetic_v2" ]; then
	stores=$tmp/corpus
	mkdir "$stores"
	tar -C "$stores" -xJf "$corpus/zarr-v2.tar.xz" || exit 1
fi
begin_radosgw
s3 make corpus
s3 put "$stores/synthetic_v2" corpus/synthetic_v2
must_mount s3://corpus endian=little
"$python" "$here/corpus.py" "$corpus/expected.tsv" "$stores" "$mnt" || fail "rows differ"

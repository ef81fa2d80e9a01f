#!/bin/bash
# The conformance corpus, where there is one, from S3: every V2 store in it, below one mount of the bucket, gives the bytes it is known to hold.
. "$(dirname "$0")/functions.sh"
. "$here/s3_functions.sh"

find_corpus
begin_radosgw
s3 make corpus
s3 put "$stores/synthetic_v2" corpus/synthetic_v2
must_mount s3://corpus endian=little
"$python" "$here/corpus.py" "$corpus/expected.tsv" "$stores" "$mnt" || fail "rows differ"

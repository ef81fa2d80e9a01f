#!/bin/bash
# The pcodec streams of the conformance corpus, where there is one, in Zarr V2 and V3: the numbers they hold, or an error where they are damaged.
. "$(dirname "$0")/functions.sh"

find_corpus
[ -f "$corpus/expected-pcodec.tsv" ] || skip "no pcodec in $corpus"
mkdir "$tmp/pcodec"
tar -C "$tmp/pcodec" -xJf "$corpus/pcodec.tar.xz" || exit 1
must_mount "$tmp/pcodec" endian=little
"$python" "$here/corpus.py" "$corpus/expected-pcodec.tsv" "$tmp/pcodec" "$mnt" "" pcodec || fail "rows differ"
exit $((failures != 0))

#!/bin/bash
# The conformance corpus, where there is one: every V2 directory store in it, mounted from above, and every zip archive gives the bytes it is known to hold.
. "$(dirname "$0")/functions.sh"

find_corpus
must_mount "$stores" endian=little
"$python" "$here/corpus.py" "$corpus/expected.tsv" "$stores" "$mnt" || fail "rows differ"
for archive in "$stores"/synthetic_v2/*.zip; do
	must_mount "$archive" endian=little
	"$python" "$here/corpus.py" "$corpus/expected.tsv" "$stores" "$mnt" "synthetic_v2/${archive##*/}" || fail "rows of ${archive##*/} differ"
	umount_store
done

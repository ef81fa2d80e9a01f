#!/bin/bash
# The conformance corpus, where there is one: every V2 directory store in it, mounted from above and from one zip archive of all, and every zip
# archive gives the bytes it is known to hold.
. "$(dirname "$0")/functions.sh"

needs zip
find_corpus
must_mount "$stores" endian=little
"$python" "$here/corpus.py" "$corpus/expected.tsv" "$stores" "$mnt" || fail "rows differ"
(cd "$stores" && zip -q -r "$tmp/all.zip" synthetic_v2) || fail "zip"
must_mount "$tmp/all.zip" endian=little
"$python" "$here/corpus.py" "$corpus/expected.tsv" "$stores" "$mnt" || fail "rows from an archive differ"
for archive in "$stores"/synthetic_v2/*.zip; do
	must_mount "$archive" endian=little
	"$python" "$here/corpus.py" "$corpus/expected.tsv" "$stores" "$mnt" "synthetic_v2/${archive##*/}" || fail "rows of ${archive##*/} differ"
	umount_store
done

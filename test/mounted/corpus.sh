#!/bin/bash
# The conformance corpus, where there is one: every V2 directory store in it, mounted from above, and every zip archive gives the bytes it is known to hold.
# ZARRFS_CORPUS names the folder with expected.tsv, beside either the archives or what was unpacked from them.
. "$(dirname "$0")/functions.sh"

corpus=${ZARRFS_CORPUS:-$here/../../../shared/corpus}
[ -f "$corpus/expected.tsv" ] || skip "no corpus in ${ZARRFS_CORPUS:-ZARRFS_CORPUS}"
stores=$corpus
if [ ! -d "$corpus/synthetic_v2" ]; then
	stores=$tmp/corpus
	mkdir "$stores"
	tar -C "$stores" -xJf "$corpus/zarr-v2.tar.xz" || exit 1
fi
must_mount "$stores" endian=little
"$python" "$here/corpus.py" "$corpus/expected.tsv" "$stores" "$mnt" || fail "rows differ"
for archive in "$stores"/synthetic_v2/*.zip; do
	must_mount "$archive" endian=little
	"$python" "$here/corpus.py" "$corpus/expected.tsv" "$stores" "$mnt" "synthetic_v2/${archive##*/}" || fail "rows of ${archive##*/} differ"
	umount_store
done

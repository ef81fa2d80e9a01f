#!/bin/bash
# Repositories that the official library wrote (data/make-icechunk.mjs): every version of every array, by flat files and by libnetcdf, and the history, as that library reads them.
. "$(dirname "$0")/functions.sh"

mkdir "$tmp/c"
tar -C "$tmp/c" -xJf "$data/icechunk.tar.xz" || exit 1
options="endian=little,virtual=file:///tmp/zarrfs-official/=>$tmp/c/source/"
must_mount "$tmp/c" "$options"
for what in "" nc; do
	"$python" "$here/references.py" "$tmp/c/expected.tsv" "$mnt" spec ${what:+"$what"} || fail "rows differ $what"
done
umount_store
for spec in 1 2; do
	must_mount "$tmp/c/spec$spec" "$options"
	same "the history of spec $spec" "$(cut -f 1,3 "$mnt/.zarrfs/history")" "$(cat "$tmp/c/spec$spec.history")"
	umount_store
done

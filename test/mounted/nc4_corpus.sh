#!/bin/bash
# The conformance corpus, where there is one: the .nc4 of every variable of every store in it, read by netCDF4-python and h5py, has the values of the flat
# file; where that is an error it gives none.
. "$(dirname "$0")/functions.sh"

"$python" -c 'import netCDF4, h5py' 2>/dev/null || skip "no netCDF4-python or no h5py"
find_references icechunk
tables=$corpus/expected.tsv,$corpus/expected-icechunk.tsv
for archive in zarr-v2 zarr-v3 nczarr-writers pcodec icechunk-kerchunk; do
	[ ! -f "$corpus/$archive.tar.xz" ] || tar -C "$tmp/c" -xJf "$corpus/$archive.tar.xz" || exit 1
done
[ ! -f "$corpus/expected-pcodec.tsv" ] || tables+=,$corpus/expected-pcodec.tsv
must_mount "$tmp/c" "$options,list=flat"
parts=("" "$mnt")
for file in $(cd "$tmp/c" && ls -d {synthetic_v2,synthetic_v3,nczarr-corpus}/*.zip nczarr-corpus/zt/*.zip kerchunk/made/{,relative/}*.json* 2>/dev/null); do
	mount_store "$tmp/c/$file" "$options,list=flat" && parts+=("$file" "$mnt")
done
"$python" "$here/nc4_corpus.py" "$tables" "${parts[@]}" || fail "values differ"

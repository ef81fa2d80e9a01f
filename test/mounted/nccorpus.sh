#!/bin/bash
# The netCDF and CDL files of the conformance corpus, where there is one: the values of every V2 array; of all its types in one group; and
# what ncgen makes of each dataset.cdl.
. "$(dirname "$0")/functions.sh"

needs ncgen ncdump getfattr
"$python" -c 'import netCDF4' 2>/dev/null || skip "no netCDF4-python"
find_corpus
must_mount "$stores" endian=little
"$python" "$here/nccorpus.py" check "$corpus/expected.tsv" "$stores" "$mnt" "$log" || fail "files of single variables differ"
umount_store
[ -d "$stores/nczarr-corpus" ] || tar -C "$stores" -xJf "$corpus/nczarr-writers.tar.xz" || exit 1
must_mount "$stores"
"$python" "$here/cdl_files.py" check "$mnt" || fail "CDL of the corpus"
umount_store

"$python" "$here/nccorpus.py" gather "$stores" "$tmp/all.zarr" || exit 1
must_mount "$tmp/all.zarr" endian=little
"$python" "$here/nccorpus.py" check_all "$tmp/all.zarr" "$mnt" "$log" || fail "dataset.nc of all types differs"

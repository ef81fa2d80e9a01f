#!/bin/bash
# The same content as every netcdf-c release since 4.8.0 wrote it, as NCZarr and as pure Zarr: the same bytes, dimensions, types and attributes,
# in flat files, dataset.cdl and netCDF files.
# Stores of this machine's own netcdf-c always; those of the other releases where the corpus is (see corpus.sh).
. "$(dirname "$0")/functions.sh"
needs ncgen ncdump
"$python" -c 'import netCDF4' 2>/dev/null || skip "no netCDF4-python"

mkdir "$tmp/stores"
for mode in nczarr zarr; do
	ncgen -4 -lb -o "file://$tmp/stores/here_$mode#mode=$mode,file" "$data/writers.cdl" || fail "ncgen cannot write mode=$mode"
done
corpus=${ZARRFS_CORPUS:-$here/../../../shared/corpus}
if [ -d "$corpus/nczarr-corpus" ]; then
	cp -r "$corpus/nczarr-corpus"/o* "$tmp/stores"
elif [ -f "$corpus/nczarr-writers.tar.xz" ]; then
	tar -C "$tmp" -xJf "$corpus/nczarr-writers.tar.xz" && mv "$tmp"/nczarr-corpus/o* "$tmp/stores"
fi
ncgen -k nc4 -o "$tmp/writers.nc" "$data/writers.cdl" || fail "ncgen"
must_mount "$tmp/stores" endian=little
"$python" "$here/nczarr.py" "$tmp/stores" "$mnt" "$tmp/writers.nc" || fail "see above"

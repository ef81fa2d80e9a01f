#!/bin/bash
# The netCDF files of variables of every type: values, types, dimensions, attributes.
. "$(dirname "$0")/functions.sh"

"$python" -c 'import netCDF4' 2>/dev/null || skip "no netCDF4-python"
"$python" "$here/netcdf.py" make "$tmp/store.zarr" || exit 1
must_mount "$tmp/store.zarr"
"$python" "$here/netcdf.py" check "$tmp/store.zarr" "$mnt" || fail "files differ"
grep -q "i8_fine.*9007199254740993.*i8_fine.cdf5.nc" "$log" || fail "the log does not name i8_fine.cdf5.nc: $(cat "$log")"
grep -q "'nothing2' is not in the netCDF file of .*: it has a dimension of length 0" "$log" || fail "the log does not say why nothing2 is missing"
# It takes what a read() lacks for what it read before.
if command -v cdo >/dev/null; then
	cdo -s -O copy "$mnt/more/i8_fine.nc" "$tmp/out.nc" 2>/dev/null && fail "cdo copies what cannot be read"
	cdo -s -O copy "$mnt/more/i8_few.nc" "$tmp/out.nc" 2>/dev/null && fail "cdo copies a small variable that cannot be read"
fi
umount_store

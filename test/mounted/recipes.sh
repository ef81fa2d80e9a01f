#!/bin/bash
# The commands of doc/netcdf.md do what is said of them.
. "$(dirname "$0")/functions.sh"
needs nccopy ncks ncra ncgen
"$python" -c 'import netCDF4' 2>/dev/null || skip "no netCDF4-python"

"$python" - "$tmp/era5.zarr" <<'END' || exit 1
import sys
import zarr
import stores
store = sys.argv[1]
for name in "t2m", "u10":
    stores.put(store, name, stores.field((48, 32, 64), "f4", len(name)), {"_ARRAY_DIMENSIONS": ["time", "lat", "lon"]}, chunks=(8, 32, 64))
stores.coordinates(store, "", 48, 0, (32, 64))
zarr.open_group(store, "a")
zarr.consolidate_metadata(zarr.DirectoryStore(store))
END
cd "$tmp" || exit 1
must_mount era5.zarr
ln -s "$mnt" mnt
PATH=$(dirname "$ZARRFS"):$PATH

# try_command COMMAND: must succeed
try_command()
{
	local command=$1
	case $command in
	cdo*) command -v cdo >/dev/null || return ;;
	'zarrfs era5.zarr mnt'*) command=${command//mnt/own} ;;
	esac
	mkdir -p own
	rm -f ./*.nc
	bash -c "$command" >out 2>&1 || fail "'$command': $(cat out)"
}

# shellcheck disable=SC2016 # Markdown's quotes
mapfile -t commands < <(sed -n 's/^| .* | \(`.*`\) |$/\1/p' "$here/../../doc/netcdf.md" | grep -o '`[^`]*`' | tr -d '`')
[ ${#commands[@]} -ge 15 ] || fail "only ${#commands[@]} commands in doc/netcdf.md"
for command in "${commands[@]}"; do
	try_command "$command"
	"$python" - "$command" ./*.nc <<'END' || fail "'$command': see above"
import sys
import netCDF4
import numpy as np
import stores
for path in sys.argv[2:]:
    if path in ("./*.nc", "./empty.nc", "./mean.nc", "./europe.nc"):
        continue
    with netCDF4.Dataset(path) as nc:
        for name in set(nc.variables) & {"t2m", "u10"}:
            want = stores.field((48, 32, 64), "f4", len(name))
            got = nc[name][...]
            assert len(got) and (got == want[:len(got)]).all(), (path, name)
END
done
cd /

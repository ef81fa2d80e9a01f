#!/bin/bash
# What HDF5's tools, GDAL by both of its drivers, NCO and CDO read from a netCDF-4 file is what the flat file has, and costs no more than that:
# counted in requests of the kernel and in chunks.
. "$(dirname "$0")/functions.sh"

needs ncdump h5dump gdal_translate ncks cdo
"$python" -c 'import netCDF4' 2>/dev/null || skip "no netCDF4-python"
"$python" - "$tmp/store" "$tmp/many" <<'END' || exit 1
import json
import os
import sys
import numpy as np
import zarr
g = zarr.open_group(zarr.DirectoryStore(sys.argv[1]), "w")
values = np.random.default_rng(4).random((40, 256, 300), "f4")
v = g.create_dataset("v", data=values, chunks=(4, 256, 300))
v.attrs["_ARRAY_DIMENSIONS"] = ["time", "lat", "lon"]
for name, places in ("time", np.arange(40.0)), ("lat", np.linspace(80, -80, 256)), ("lon", np.linspace(0, 359, 300)):
    g.create_dataset(name, data=places, fill_value=None)
    g[name].attrs["_ARRAY_DIMENSIONS"] = [name]
g["lat"].attrs["units"], g["lon"].attrs["units"], g["time"].attrs["units"] = "degrees_north", "degrees_east", "days since 2000-01-01"
zarr.consolidate_metadata(zarr.DirectoryStore(sys.argv[1]))
documents = {".zgroup": {"zarr_format": 2}}
for i in range(500):
    documents["v%d/.zarray" % i] = {"zarr_format": 2, "shape": [10, 30, 40], "chunks": [1, 30, 40], "dtype": "<f4", "compressor": None, "fill_value": 0, "filters": None, "order": "C"}
    documents["v%d/.zattrs" % i] = {"_ARRAY_DIMENSIONS": ["time", "y", "x"], **{"attribute_%d" % k: "value %d of %d" % (k, i) for k in range(6)}}
os.makedirs(sys.argv[2])
for name, content in (".zgroup", documents[".zgroup"]), (".zmetadata", {"zarr_consolidated_format": 1, "metadata": documents}):
    with open(os.path.join(sys.argv[2], name), "w", encoding="utf8") as file:
        json.dump(content, file)
END

# run COMMAND...: it succeeds
run()
{
	timeout 100 "$@" >"$tmp/out" 2>&1 </dev/null || fail "$1: status $?: $(head -c 1000 "$tmp/out")"
}

must_mount "$tmp/store"
"$ZARRFS" --cat "$tmp/store" v >"$tmp/v"
run h5dump -d /v -b LE -o "$tmp/h5" "$mnt/v.nc4"
cmp "$tmp/h5" "$tmp/v" || fail "h5dump has other values"
for driver in NETCDF HDF5; do
	where=$mnt/v.nc4:v
	[ $driver = NETCDF ] || where=$mnt/v.nc4://v
	run gdal_translate -q -b 7 -of ENVI "$driver:$where" "$tmp/$driver"
	tail -c +$((6 * 256 * 300 * 4 + 1)) "$tmp/v" | head -c $((256 * 300 * 4)) | cmp - "$tmp/$driver" || fail "GDAL's $driver has other values"
done
for command in "ncks -O -4 -d time,3,9" "cdo -s -O -f nc4 seltimestep,4/10"; do
	# shellcheck disable=SC2086 # words
	run $command "$mnt/v.nc4" "$tmp/part.nc"
	run h5dump -d /v -b LE -o "$tmp/h5" "$tmp/part.nc"
	tail -c +$((3 * 256 * 300 * 4 + 1)) "$tmp/v" | head -c $((7 * 256 * 300 * 4)) | cmp - "$tmp/h5" || fail "'$command' has other values"
done
umount_store

# counted WHAT PROGRAM: $asked, $decoded and $bytes, requests of the kernel, chunks and bytes of them that it takes, on a new mount
counted()
{
	must_mount "$tmp/store"
	"$python" -c "import os, random; m = '$mnt'; random.seed(4)
$2" || fail "$1"
	asked=$(stat_value 'fuse_requests_total{op="read"}') decoded=$(stat_value chunk_decodes_total) bytes=$(stat_value chunk_decoded_bytes_total)
	echo "$1: $asked requests, $decoded chunks, $bytes bytes of them"
	umount_store
}

nc="import netCDF4; v = netCDF4.Dataset(m + '/v.nc4')['v']; v.set_auto_mask(False)"
flat="f = os.open(m + '/v', os.O_RDONLY)"
counted "all of the flat file" "$flat
while os.read(f, 1 << 20): pass"
most=$((asked + 16)) chunks=$decoded
counted "all of it by netCDF4" "$nc; v[:]"
[ "$asked" -le $most ] || fail "netCDF4 takes $asked requests, the flat file $((most - 16))"
[ "$decoded" -le $((chunks + 3)) ] || fail "netCDF4 decodes $decoded chunks, more than $chunks and three of coordinates"
counted "a point of the flat file" "$flat
for t in range(40): os.pread(f, 4, ((t * 256 + 100) * 300 + 7) * 4)"
most=$((asked * 3 / 2 + 16)) chunks=$decoded most_bytes=$((bytes * 3))
counted "a point by netCDF4" "$nc; v[:, 100, 7]"
[ "$asked" -le $most ] || fail "a point by netCDF4 takes $asked requests, more than $most"
[ "$decoded" -le $((chunks + 3)) ] || fail "a point by netCDF4 decodes $decoded chunks, more than $chunks and three of coordinates"
# libhdf5 asks for 64 KiB for each
[ "$bytes" -le $most_bytes ] || fail "a point by netCDF4 decodes $bytes bytes, more than $most_bytes"
counted "2000 pieces of the flat file" "$flat
for i in range(2000): os.pread(f, 1200, random.randrange(40 * 256) * 1200)"
most=$((asked * 3 / 2 + 16)) chunks=$decoded
counted "2000 pieces by netCDF4" "$nc
for i in range(2000): v[random.randrange(40), random.randrange(256), :]"
[ "$asked" -le $most ] || fail "2000 pieces by netCDF4 take $asked requests, more than $most"
[ "$decoded" -le $((chunks * 3 / 2)) ] || fail "2000 pieces by netCDF4 decode $decoded chunks, more than 1.5 x $chunks"

must_mount "$tmp/many"
same "attributes that ncdump -h shows" "$(ncdump -h "$mnt/dataset.nc4" | grep -c attribute_)" 3000
asked=$(stat_value 'fuse_requests_total{op="read"}')
[ "$asked" -le 16 ] || fail "ncdump -h of 500 variables takes $asked requests"
umount_store
exit $((failures != 0))

#!/bin/bash
# What programs cost an S3 server that show a header, a file's kind or one time step of a store with a chunk of 4 MiB for each: what they show,
# and two chunks; while a reader in order asks once for each chunk, and for many at once.
. "$(dirname "$0")/functions.sh"
. "$here/s3_functions.sh"
needs curl ncdump

"$python" - "$tmp/era5.zarr" <<'END' || exit 1
import sys
import zarr
import stores
store = sys.argv[1]
stores.put(store, "t2m", stores.field((24, 721, 1440)), {"_ARRAY_DIMENSIONS": ["time", "lat", "lon"], "units": "K"}, chunks=(1, 721, 1440), compressor=stores.BLOSC)
stores.coordinates(store, "", 24, 0, (721, 1440))
zarr.consolidate_metadata(zarr.DirectoryStore(store))
END
"$python" "$here/s3.py" many "$tmp/many.zarr" 500 || exit 1
begin_radosgw
s3 make bucket
s3 put "$tmp/era5.zarr" bucket/era5.zarr
s3 put "$tmp/many.zarr" bucket/many.zarr
begin_proxy

# objects REGEX: how many of them were asked for since forget, each counted once
objects()
{
	asked | awk '{ print $2 }' | grep -E -- "$1" | sort -u | wc -l
}

# peak: most requests under way at once since forget
peak()
{
	curl -s "$PROXY/-/counts" | sed 's/.*"peak": *\([0-9]*\).*/\1/'
}

# costs CHUNKS OTHERS COMMAND...: in a new mount the command, if there is such a program, asks for at most so many chunks of t2m and other objects
costs()
{
	local chunks=$1 others=$2 got rest
	shift 2
	command -v "$1" >/dev/null || return
	must_mount s3://bucket/era5.zarr metadata_ttl=1000
	ls -l "$mnt" >/dev/null
	fault "kind=latency&seconds=0.03"
	forget
	(cd "$mnt" && "$@") >"$tmp/said" 2>&1 || fail "'$*' fails: $(cat "$tmp/said")"
	sleep 0.5 # for what is still asked for
	calm
	got=$(objects 't2m/[0-9]') rest=$(($(objects .) - $(objects 't2m/[0-9]')))
	echo "$*: $got chunks, $rest others, $(asked | awk '{ n += $5 } END { print int(n / 1000) }') kB" | tail -n 1
	[ "$got" -le "$chunks" ] || fail "'$*': $got chunks, not $chunks: $(asked)"
	[ "$rest" -le "$others" ] || fail "'$*': $rest other objects, not $others: $(asked)"
	umount_store
}

# A listing, metadata of four arrays, three coordinates
all=8
costs 0 2 ncdump -h t2m.nc
costs 0 1 head -c 4096 t2m.nc
costs 0 $all ncdump -v time,lat,lon t2m.nc
costs 0 $all gdalinfo t2m.nc
costs 2 $all cdo -s sinfo t2m.nc
costs 2 $all cdo -s sinfon t2m.nc
costs 1 1 head -c 4096 t2m
# It takes 7 MiB at either end
costs 6 $all file t2m.nc
costs 6 1 file t2m
# The block in which the time step begins has some of the one before it, and the kernel reads ahead into the one behind it
costs 3 $all ncks -O -d time,3 t2m.nc "$tmp/step.nc"
for engine in netcdf4 scipy; do
	"$python" -c "import xarray, $engine" 2>/dev/null || "$python" -c "import xarray, netCDF4" 2>/dev/null || continue
	most=3
	[ $engine = netcdf4 ] || most=4 # it maps the file: its first pages look like those of a reader of all of it
	costs $most $all "$python" -c 'import sys, xarray
with xarray.open_dataset("t2m.nc", engine=sys.argv[1]) as d:
    print(float(d["t2m"][3].mean()))' $engine
done

# in_order FILE COMMAND...: all of it, each chunk once, and many under way at once
in_order()
{
	local file=$1 most
	shift
	must_mount s3://bucket/era5.zarr metadata_ttl=1000
	fault "kind=latency&seconds=0.2"
	forget
	(cd "$mnt" && "$@") >"$tmp/got" || fail "'$*' fails"
	most=$(peak)
	calm
	cmp "$tmp/got" "$tmp/want.$file" || fail "'$*'"
	same "chunks in '$*'" "$(requests 't2m/[0-9]')" 24
	echo "$*: peak $most"
	[ "$most" -ge 12 ] || fail "'$*': at most $most requests at once"
	umount_store
}

for file in t2m t2m.nc; do
	"$ZARRFS" --cat "$tmp/era5.zarr" $file >"$tmp/want.$file" || fail "--cat of $file"
	in_order $file cat $file
done
in_order t2m dd if=t2m bs=4k status=none
in_order t2m dd if=t2m bs=1M status=none
in_order t2m "$python" -c 'import sys
import numpy as np
sys.stdout.buffer.write(np.memmap("t2m", mode="r"))'

# small variables of one file are asked for together
must_mount s3://bucket/many.zarr metadata_ttl=1000
ls -l "$mnt" >/dev/null
fault "kind=latency&seconds=0.05"
forget
cmp "$mnt/dataset.nc" <("$ZARRFS" --cat "$tmp/many.zarr" dataset.nc) || fail "dataset.nc of 500 variables"
calm
echo "dataset.nc: $(requests) requests, peak $(peak)"
[ "$(peak)" -ge 24 ] || fail "500 small variables: at most $(peak) requests at once"
same "requests for 500 small variables" "$(requests 'v[0-9]*/0')" 500
umount_store

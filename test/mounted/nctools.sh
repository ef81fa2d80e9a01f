#!/bin/bash
# What people open netCDF files with, on those of a mount: values, and how many chunks that cost.
. "$(dirname "$0")/functions.sh"

needs ncdump nccopy ncgen ncks cdo gdalinfo gdal_translate gfortran nf-config octave R
"$python" -c 'import netCDF4, xarray, scipy' 2>/dev/null || skip "no netCDF4, xarray or scipy for Python"
"$python" "$here/nctools.py" make "$tmp" || exit 1

# run WHAT COMMAND...: it succeeds
run()
{
	local what=$1
	shift
	timeout 300 "$@" >"$tmp/out" 2>"$tmp/err" </dev/null || fail "$what: status $?: $(head -c 2000 "$tmp/err")"
}

# is FILE VARIABLE FROM TO|mean [LATS,LONS]: the time steps; of those a part, as Python writes it
is()
{
	"$python" "$here/nctools.py" same "$@" || fail "$1 differs"
}

decodes()
{
	echo $(($(stat_value chunk_decodes_total) + $(stat_value chunk_absent_total)))
}

must_mount "$tmp/b.zarr"
b=$mnt
must_mount "$tmp/a.zarr"
a=$mnt
out=$tmp/out.nc

run "ncdump -h dataset.nc" ncdump -h "$a/dataset.nc"
same "chunks that ncdump -h reads" "$(decodes)" 0
"$python" "$here/nctools.py" check "$tmp" "$a" || fail "Python's readers"
run nccopy nccopy "$a/t.nc" "$out" && is "$out" t 0 23
run "nccopy of dataset.nc" nccopy -k nc4 "$a/dataset.nc" "$out" && is "$out" u 0 23
ncdump "$a/t.nc" >"$tmp/dump"
run ncgen ncgen -o "$out" "$tmp/dump" && is "$out" t 0 23 && is "$out" time 0 23
ncdump "$out" | sed 1d | cmp - <(sed 1d "$tmp/dump") || fail "ncdump of what ncgen made of ncdump"
run ncks ncks -O -d time,3,5 "$a/t.nc" "$out" && is "$out" t 3 5 && is "$out" time 3 5
run "ncks of a hyperslab" ncks -O -d time,7,11 -d lat,10,20 -d lon,5,400,7 "$a/t.nc" "$out" && is "$out" t 7 11 10:21,5:401:7
run ncra ncra -O "$a/t.rec.nc" "$b/t.rec.nc" "$out" && is "$out" t 48 mean
run ncrcat ncrcat -O "$a/t.rec.nc" "$b/t.rec.nc" "$out" && is "$out" t 0 47 && is "$out" time 0 47
run ncecat ncecat -O "$a/t.nc" "$b/t.nc" "$out" && is "$out" t 0 47
run "cdo sinfo" cdo -s sinfo "$a/dataset.nc"
grep -q 'points=173280 (480x361)' "$tmp/out" || fail "cdo sinfo says: $(cat "$tmp/out")"
same "what cdo says of time" "$(tail -n 1 "$tmp/out" | xargs)" "2000-01-01 20:00:00 2000-01-01 21:00:00 2000-01-01 22:00:00 2000-01-01 23:00:00"
run "cdo timmean" cdo -s -O timmean "$a/t.nc" "$out" && is "$out" t 24 mean
run "cdo merge" cdo -s -O merge "$a"/*.nc "$out" && is "$out" t 0 23 && is "$out" u 0 23
run "cdo mergetime" cdo -s -O mergetime "$a/t.nc" "$b/t.nc" "$out" && is "$out" t 0 47 && is "$out" time 0 47
run gdalinfo gdalinfo "$a/t.nc"
grep -q "Size is 480, 361" "$tmp/out" || fail "gdalinfo says: $(head -3 "$tmp/out")"
same "bands that gdalinfo sees" "$(grep -c "^Band" "$tmp/out")" 24
run gdal_translate gdal_translate -q -b 4 -of ENVI "$a/t.nc" "$tmp/band"
"$python" -c 'import sys, numpy, nctools; sys.exit(not (numpy.fromfile(sys.argv[1], "f4") == nctools.values(0)[3].ravel()).all())' "$tmp/band" ||
	fail "gdal_translate differs"
read -ra flags < <(echo "$(nf-config --fflags) $(nf-config --flibs)")
run gfortran gfortran -o "$tmp/nctool" "$here/nctool.f90" "${flags[@]}"
read -r one all < <("$python" -c 'import nctools; v = nctools.values(0); print("%.1f %.0f" % (v[5, 10, 20], v.sum(dtype="f8")))')
run nf90 "$tmp/nctool" "$a/t.nc" t 21 11 6
same "what Fortran reads" "$(cat "$tmp/out")" "$one"
run octave octave --no-gui --eval "pkg load netcdf; t = ncread('$a/t.nc', 't'); printf('%.1f %.0f\n', t(21, 11, 6), sum(double(t(:))))"
same "what octave reads" "$(tail -n 1 "$tmp/out")" "$one $all"
run RNetCDF Rscript -e "library(RNetCDF); t <- var.get.nc(open.nc('$a/t.nc'), 't'); cat(sprintf('%.1f %.0f\n', t[21, 11, 6], sum(t)))"
same "what R reads" "$(tail -n 1 "$tmp/out")" "$one $all"
run ncdf4 Rscript -e "library(ncdf4); t <- ncvar_get(nc_open('$a/t.nc'), 't'); cat(sprintf('%.1f %.0f\n', t[21, 11, 6], sum(t)))"
same "what ncdf4 of R reads" "$(tail -n 1 "$tmp/out")" "$one $all"
umount_store "$a"
umount_store "$b"

# A slice costs its chunk, what the kernel reads ahead behind it, and behind the header: coordinates and the first steps. How far it has
# come ahead when the file is closed is 8 or 9 chunks.
must_mount "$tmp/a.zarr"
before=$(decodes)
"$python" -c 'import sys, netCDF4; print(netCDF4.Dataset(sys.argv[1])["t"][12].sum())' "$mnt/t.nc" >/dev/null || fail "a slice"
[ $(($(decodes) - before)) -le 10 ] || fail "a time step of 24 took $(($(decodes) - before)) chunks"
umount_store

must_mount "$data/sample.zarr"
"$python" "$here/nctools.py" xarray "$data/sample.zarr" "$mnt" || fail "xarray, against the store"

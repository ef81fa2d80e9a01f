#!/bin/bash
# What people open netCDF files with, on those of a mount: values, and how many chunks that cost. Tools that are not here are left out.
. "$(dirname "$0")/functions.sh"

needs ncdump nccopy
"$python" -c 'import netCDF4, xarray, scipy' 2>/dev/null || skip "no netCDF4, xarray or scipy for Python"
"$python" "$here/nctools.py" make "$tmp" || exit 1

have()
{
	command -v "$1" >/dev/null || { echo "no $1"; return 1; }
}

# run WHAT COMMAND...: it succeeds
run()
{
	local what=$1
	shift
	timeout 300 "$@" >"$tmp/out" 2>"$tmp/err" </dev/null || fail "$what: status $?: $(head -c 2000 "$tmp/err")"
}

# is FILE VARIABLE FROM TO|mean
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
ncdump "$a/t.nc" | sed 1d >"$tmp/dump"
if ! ncdump "$a/t.nc" | ncgen -o "$out" || ! ncdump "$out" | sed 1d | cmp - "$tmp/dump"; then
	fail "ncgen of ncdump"
fi
if have ncks; then
	run ncks ncks -O -d time,3,5 "$a/t.nc" "$out" && is "$out" t 3 5
	run ncra ncra -O "$a/t.rec.nc" "$b/t.rec.nc" "$out" && is "$out" t 48 mean
	run ncrcat ncrcat -O "$a/t.rec.nc" "$b/t.rec.nc" "$out" && is "$out" t 0 47
	run ncecat ncecat -O "$a/t.nc" "$b/t.nc" "$out" && is "$out" t 0 47
fi
if have cdo; then
	run "cdo sinfo" cdo -s sinfo "$a/dataset.nc"
	run "cdo timmean" cdo -s -O timmean "$a/t.nc" "$out" && is "$out" t 24 mean
	run "cdo merge" cdo -s -O merge "$a"/*.nc "$out" && is "$out" t 0 23 && is "$out" u 0 23
	run "cdo mergetime" cdo -s -O mergetime "$a/t.nc" "$b/t.nc" "$out" && is "$out" t 0 47
fi
if have gdalinfo; then
	run gdalinfo gdalinfo "$a/t.nc"
	grep -q "Size is 480, 361" "$tmp/out" || fail "gdalinfo says: $(head -3 "$tmp/out")"
	run gdal_translate gdal_translate -q -b 4 -of ENVI "$a/t.nc" "$tmp/band"
	"$python" -c 'import sys, numpy, nctools; sys.exit(not (numpy.fromfile(sys.argv[1], "f4") == nctools.values(0)[3].ravel()).all())' "$tmp/band" ||
		fail "gdal_translate differs"
fi
if have gfortran && nf-config --fflags >/dev/null 2>&1; then
	read -ra flags < <(echo "$(nf-config --fflags) $(nf-config --flibs)")
	run gfortran gfortran -o "$tmp/nctool" "$here/nctool.f90" "${flags[@]}"
	run "nf90" "$tmp/nctool" "$a/t.nc"
	want=$("$python" -c 'import nctools; print("%.1f" % nctools.values(0)[5, 10, 20])')
	same "what Fortran reads" "$(tr -d ' ' <"$tmp/out")" "$want"
fi
if have octave; then
	run octave octave --no-gui --eval "pkg load netcdf; printf('%.1f\n', ncread('$a/t.nc', 't', [21 11 6], [1 1 1]))"
	same "what octave reads" "$(tail -1 "$tmp/out")" "$("$python" -c 'import nctools; print("%.1f" % nctools.values(0)[5, 10, 20])')"
fi
if have Rscript && Rscript -e 'library(RNetCDF)' >/dev/null 2>&1; then
	run R Rscript -e "library(RNetCDF); cat(sprintf('%.1f\n', var.get.nc(open.nc('$a/t.nc'), 't', c(21, 11, 6), c(1, 1, 1))))"
	same "what R reads" "$(tail -1 "$tmp/out")" "$("$python" -c 'import nctools; print("%.1f" % nctools.values(0)[5, 10, 20])')"
fi
umount_store "$a"
umount_store "$b"

# A slice costs its chunk, what the kernel reads ahead behind it, and behind the header: coordinates and the first steps.
must_mount "$tmp/a.zarr"
before=$(decodes)
"$python" -c 'import sys, netCDF4; print(netCDF4.Dataset(sys.argv[1])["t"][12].sum())' "$mnt/t.nc" >/dev/null || fail "a slice"
[ $(($(decodes) - before)) -le 8 ] || fail "a time step of 24 took $(($(decodes) - before)) chunks"
umount_store

must_mount "$tmp/huge.zarr"
"$python" "$here/nctools.py" huge "$mnt" || fail "5 TB"
before=$(decodes)
if have ncks; then
	run "ncks of one cell" ncks -O -C -v huge -d time,1000000 -d lat,300 -d lon,300 "$mnt/huge.nc" "$out"
	[ $(($(decodes) - before)) -le 2 ] || fail "ncks of one cell took $(($(decodes) - before)) chunks"
fi
if have cdo; then
	run "cdo sinfo of 200 GB" cdo -s sinfo "$mnt/large.nc"
fi
if have gdalinfo; then
	run "gdalinfo of 200 GB" gdalinfo -nomd "$mnt/large.nc"
fi
umount_store

#!/bin/bash
# Variables of 5 TB and 200 GB, of which the first and the last time step are stored, in every tool that reads the files of a mount:
# the last element and one of the first step are right, and each tool fetches the chunks it needs, in a daemon of 64 MB of caches.
# What a tool cannot do with 5 TB stands beside it.
. "$(dirname "$0")/functions.sh"

needs ncdump nccopy ncks cdo gdalinfo gdal_translate gdalmdimtranslate gfortran nf-config octave R gmt grads pyferret3 ncview Xvfb xwd convert xdotool
"$python" -c 'import netCDF4, xarray, scipy' 2>/dev/null || skip "no netCDF4, xarray or scipy for Python"
"$python" "$here/huge.py" make "$tmp/store.zarr" || exit 1
read -ra flags < <(echo "$(nf-config --fflags) $(nf-config --flibs)")
gfortran -o "$tmp/nctool" "$here/nctool.f90" "${flags[@]}" || exit 1
at=$tmp/at huge=$tmp/at/huge.nc large=$tmp/at/large/large.nc
cd "$tmp" || exit 1

# fresh: a mount that has read nothing yet, at $at
fresh()
{
	umount_store
	must_mount "$tmp/store.zarr" memory=64M
	ln -sfn "$mnt" "$at"
}

# fetched WHAT MOST: so many chunks of the store were asked for since the mount, absent ones included, and memory is as it was allowed
fetched()
{
	local n
	n=$(stat_value chunk_fetches_total)
	[ "$n" -le "$2" ] || fail "$1 fetched $n chunks, more than $2"
	sanitized || [ "$(peak_memory)" -le $((128 * 1024)) ] || fail "$1: the daemon took $(peak_memory) KiB"
	echo "$1: $n chunks of at most $2"
}

# tool WHAT MOST WANT COMMAND...: what it prints at its end has the words WANT, for at most MOST chunks
tool()
{
	local what=$1 most=$2 want=$3 got
	shift 3
	fresh
	got=$(timeout 300 "$@" 2>"$tmp/err" </dev/null) || fail "$what: status $?: $(head -c 2000 "$tmp/err")"
	same "what $what reads" "$(tail -n 1 <<<"$got" | xargs)" "$want"
	fetched "$what" "$most"
}

# number: the last float of stdin, in binary
number()
{
	tail -c 4 | od -A n -t f4
}
export -f number

# chunks of the coordinates; when they are read, the kernel reads ahead into the first step or two
axes=9

# $mnt is there for fresh to take down
must_mount "$tmp/store.zarr" memory=64M
[ "$(stat -c %s "$mnt/huge.nc")" -gt 5400000000000 ] || fail "huge.nc has only $(stat -c %s "$mnt/huge.nc") bytes"
same "the format of huge.nc" "$(ncdump -k "$mnt/huge.nc")" "64-bit offset"
same "the format of dataset.nc" "$(ncdump -k "$mnt/dataset.nc")" cdf5
ncdump -h "$mnt/huge.nc" | grep -q "time = 1320000 ;" || fail "ncdump -h"
fetched "ncdump -h" 0

# one cell of each kind of file: one chunk
cell=(-d 'lat,300' -d 'lon,700')
for file in huge.nc huge.cdf5.nc huge.rec.nc dataset.nc; do
	tool "ncks of $file" 1 1.5 ncks -H -C -s '%.1f\n' -v huge -d time,1319999 -d lat,720 -d lon,1439 "$at/$file"
done
tool "ncks of the first step" 1 432700.0 ncks -H -C -s '%.1f\n' -v huge -d time,0 "${cell[@]}" "$huge"
tool "ncks of a step that is missing" 1 _ ncks -H -C -s '%.1f\n' -v huge -d time,1000000 "${cell[@]}" "$huge"
tool nf90 1 1.5 "$tmp/nctool" "$huge" huge 1440 721 1320000
tool octave 1 1.5 octave --no-gui --eval "pkg load netcdf; printf('%.1f\n', ncread('$huge', 'huge', [1440 721 1320000], [1 1 1]))"
tool RNetCDF 1 1.5 R --slave -e "library(RNetCDF); cat(sprintf('%.1f\n', var.get.nc(open.nc('$huge'), 'huge', c(1440, 721, 1320000), c(1, 1, 1))))"

# the flat file; a step may begin in the midst of a page that the step before ends in
tool od 1 "5481907199996 1.5 5481907200000" sh -c "od -A d -t f4 -j 5481907199996 $at/huge | tr '\n' ' '"
tool tail 1 1.5 bash -c "tail -c 1000 $at/huge | number"
tool dd 2 1.5 bash -c "dd if=$at/huge bs=$((4 * 721 * 1440)) skip=1319999 count=1 status=none | number"
tool "direct access" 2 1.5 "$tmp/nctool" "$at/huge" 1440 721 1440 721 1320000
tool numpy.memmap 4 "1.5 432700.0 -1.0" "$python" "$here/huge.py" read memmap "$at/huge"
tool numpy.load 4 "1.5 432700.0 -1.0" "$python" "$here/huge.py" read load "$at/huge.npy"

# with coordinates
tool "ncdump -v lat" 4 "-90 ;" sh -c "ncdump -v lat $huge | grep -o -- '-90 ;'"
tool "nccopy -V" $((axes + 2)) "1319999 ;" sh -c "nccopy -V time,lat $huge out.nc && ncdump -v time out.nc | grep -o '[0-9]* ;$'"
tool "netCDF4" 5 "1.5 432700.0 -999.0" "$python" "$here/huge.py" read netCDF4 "$huge"
tool "netCDF4 of dataset.nc" 5 "1.5 432700.0 -999.0" "$python" "$here/huge.py" read netCDF4 "$at/dataset.nc"
for how in "xarray netcdf4" "xarray scipy" "scipy mmap"; do
	tool "$how" $((axes + 4)) "1.5 432700.0 -1.0" "$python" "$here/huge.py" read "$how" "$huge"
done
tool ncdf4 $((axes + 3)) 1.5 R --slave -e "library(ncdf4); cat(sprintf('%.1f\n', ncvar_get(nc_open('$huge'), 'huge', c(1440, 721, 1320000), c(1, 1, 1))))"
box=-selindexbox,1440,1440,721,721
tool cdo $((axes + 3)) 1.5 cdo -s outputf,%.1f,1 $box -seltimestep,1320000 "$huge"
tool "cdo sinfo" $((axes + 3)) "2150-08-01 20:00:00 2150-08-01 21:00:00 2150-08-01 22:00:00 2150-08-01 23:00:00" cdo -s sinfo "$huge"
tool "cdo sinfo of 200 GB" 6 "2005-09-14 04:00:00 2005-09-14 05:00:00 2005-09-14 06:00:00 2005-09-14 07:00:00" cdo -s sinfo "$large"
tool GMT $((axes + 3)) 1.5 bash -c "gmt grd2xyz -ZTLf '$huge?huge[1319999]' | number"
printf '%s\n' "use \"$huge\"" "list/l=1320000/i=1440/j=1 huge" quit >huge.jnl
tool Ferret $((axes + 3)) 1.500 env PATH=/usr/bin:/bin pyferret3 -nodisplay -script "$tmp/huge.jnl"
printf '%s\n' "'sdfopen $huge'" "'set x 1440'" "'set y 1'" "'set t 1320000'" "'d huge'" "say result" "'quit'" >huge.gs
tool GrADS $((axes + 3)) "Result value = 1.5" sh -c 'grads -blc "run huge.gs" | grep value'
printf '%s\n' "dset $at/huge" "options little_endian" "undef -1" "xdef 1440 linear 0 0.25" "ydef 721 linear -90 0.25" "zdef 1 linear 0 1" \
	"tdef 1320000 linear 00Z01JAN2000 1hr" "vars 1" "huge 0 99 huge" endvars >huge.ctl
sed "s/sdfopen.*'/open huge.ctl'/; s/set y 1'/set y 721'/" huge.gs >flat.gs
tool "GrADS of the flat file" 1 "Result value = 1.5" sh -c 'grads -blc "run flat.gs" | grep value'

# gdalinfo and gdal_translate take 32768 bands, or as many as GDAL_MAX_BAND_COUNT says, and the time in which they join all times to one text grows
# with the square of their number: a second for 50000, many minutes for 1320000. GDAL's multidimensional tools have neither limit.
export GDAL_MAX_BAND_COUNT=50000
tool gdalinfo 6 "Band 50000 Block=1440x1 Type=Float32, ColorInterp=Undefined" sh -c "gdalinfo -nomd $large | grep Band"
tool gdal_translate 7 "359.75 -90 1.5" gdal_translate -q -b 50000 -srcwin 1439 720 1 1 -of XYZ "$large" /vsistdout/
tool gdalmdimtranslate $((axes + 3)) 1.5 bash -c "gdalmdimtranslate -q -of ENVI -array 'name=huge,view=[1319999,0:721,0:1440]' $huge plane && number <plane"

# ncview wants memory for the pixels of all steps, 168 GB here. Where it does not get that it says so, and draws when it is told OK.
# A step back from the first is the last, which has its colours upside down.
exec 3< <(exec Xvfb -noreset -displayfd 1 -screen 0 1200x800x24 2>/dev/null)
server=$!
read -r -t 20 -u 3 display || fail "no X server"
export DISPLAY=:$display
fresh
ncview "$huge" >"$tmp/ncview.log" 2>&1 &
viewer=$!

# warm Y: red, and not blue, at that height of the screen
warm()
{
	xwd -root -silent 2>/dev/null | convert xwd:- -crop "1x1+240+$1" -format '%[fx:u.r > 0.8 && u.b < 0.2]' info: 2>/dev/null | grep -q 1
}
# ok: presses it in an error box, if there is one
ok()
{
	local box X='' Y=''
	box=$(xdotool search --name '^popup$' 2>/dev/null | tail -n 1)
	[ -z "$box" ] && return
	eval "$(xdotool getwindowgeometry --shell "$box" 2>/dev/null | grep '^[XY]=[0-9]*$')"
	[ -n "$X" ] && [ -n "$Y" ] || return # it has gone meanwhile
	xdotool mousemove $((X + 25)) $((Y + 73)) click 1
}
drawn()
{
	ok
	warm 748
}
eventually 60 drawn || fail "ncview draws nothing: $(head -c 500 "$tmp/ncview.log")"
! warm 512 || fail "ncview draws the first step upside down"
xdotool mousemove 180 199 click 1
eventually 60 warm 512 || fail "ncview does not draw the last step"
fetched ncview $((axes + 12))
kill $viewer $server
wait $viewer 2>/dev/null
true

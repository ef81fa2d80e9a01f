#!/bin/bash
# What the model writes is read by others: groups, arrays, attributes and resizing, in Zarr V2, NCZarr and Zarr V3, by zarr-python,
# netCDF (uncompressed: Debian's libnetcdf has no filters) and GDAL, beside stores that zarr-python began.
. "$(dirname "$0")/functions.sh"
needs ncdump gdalinfo gdalmdiminfo
[ -x "${ZARRFS_STOREEDIT:-}" ] || skip "no storeedit"
"$python" -c 'import zarr, netCDF4' 2>/dev/null || skip "no zarr-python or netCDF4-python"

edit()
{
	"$ZARRFS_STOREEDIT" "$@" || fail "storeedit $*"
}

zstd='[{"id": "shuffle"}, {"id": "zstd", "level": 3}]'
for kind in v2 nczarr v3; do
	store=$tmp/$kind.zarr
	mkdir "$store"
	edit "$store" group "" "$kind"
	edit "$store" group sub "$kind"
	edit "$store" array time int64 3 2 +time
	edit "$store" array t2m float32 3,4 2,4 +time,x
	edit "$store" array sub/packed int16 3,4 2,4 +time,x "$zstd"
	edit "$store" array gone uint8 2 2 y
	edit "$store" set "" title 'made "here"'
	edit "$store" set t2m units K
	edit "$store" set t2m scale 1.5f
	edit "$store" set t2m range '1s, 2s'
	edit "$store" set t2m big 18446744073709551615
	edit "$store" set t2m odd x
	edit "$store" del t2m odd
	edit "$store" set sub/packed units m
	with=(t2m sub/packed)
	[ $kind = nczarr ] && with=()
	edit "$store" resize time 5 "${with[@]}"
	edit "$store" remove gone
done
edit "$tmp/v3.zarr" array sharded float64 4,4 1,4 +time4,x "$zstd" 2,4

"$python" "$here/edited.py" fill "$tmp" || fail "zarr-python or chunks, see above"

# netCDF: Debian's does not know of this generation of NCZarr, and shows all as pure Zarr
for kind in v2 nczarr; do
	cp -r "$tmp/$kind.zarr" "$tmp/plain" && rm -r "$tmp/plain/sub/packed"
	for mode in zarr nczarr; do
		ncdump "file://$tmp/plain#mode=$mode,file" >"$tmp/cdl" 2>"$tmp/err" || fail "ncdump of $kind in mode=$mode: $(cat "$tmp/err")"
		grep -q 'time = 5 ;' "$tmp/cdl" || fail "ncdump of $kind in mode=$mode: $(head -5 "$tmp/cdl")"
		grep -q 't2m:units = "K"' "$tmp/cdl" || fail "no units of $kind in mode=$mode"
		grep -q '16, 17, 18, 19' "$tmp/cdl" || fail "no last row of $kind in mode=$mode"
	done
	rm -r "$tmp/plain"
	gdalmdiminfo "ZARR:\"$tmp/$kind.zarr\"" >"$tmp/json" 2>"$tmp/err" || fail "gdalmdiminfo of $kind: $(cat "$tmp/err")"
	gdalinfo -stats "ZARR:\"$tmp/$kind.zarr\":/t2m" 2>"$tmp/err" | grep -q 'Maximum=19' || fail "GDAL does not read $kind: $(cat "$tmp/err")"
	"$python" "$here/edited.py" gdal "$tmp/json" || fail "gdalmdiminfo of $kind, see above"
done

# what zarr-python wrote is changed in its own way, and read by it
"$python" "$here/edited.py" make "$tmp/theirs.zarr" || fail "zarr-python cannot write"
edit "$tmp/theirs.zarr" set a units m
edit "$tmp/theirs.zarr" set g x 0.1
edit "$tmp/theirs.zarr" resize a 6
edit "$tmp/theirs.zarr" array g/new uint16 2 2 z
edit "$tmp/theirs.zarr" remove b
"$python" "$here/edited.py" theirs "$tmp/theirs.zarr" || fail "zarr-python, see above"

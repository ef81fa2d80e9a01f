#!/bin/bash
# The netCDF files of variables of every type, of Zarr V2, V3 and in shards: values, types, dimensions, attributes.
. "$(dirname "$0")/functions.sh"

"$python" -c 'import netCDF4' 2>/dev/null || skip "no netCDF4-python"
"$python" "$here/netcdf.py" make "$tmp/store.zarr" || exit 1
must_mount "$tmp/store.zarr"
"$python" "$here/netcdf.py" check "$tmp/store.zarr" "$mnt" || fail "files differ"
eventually 60 grep -q "i8_fine.*9007199254740993.*i8_fine.cdf5.nc" "$log" || fail "the log does not name i8_fine.cdf5.nc: $(cat "$log")"
eventually 60 grep -q "'nothing2' is not in the netCDF file of .*: it has a dimension of length 0" "$log" || fail "the log does not say why nothing2 is missing"
# It takes what a read() lacks for what it read before.
if command -v cdo >/dev/null; then
	cdo -s -O copy "$mnt/more/i8_fine.nc" "$tmp/out.nc" 2>/dev/null && fail "cdo copies what cannot be read"
	cdo -s -O copy "$mnt/more/i8_few.nc" "$tmp/out.nc" 2>/dev/null && fail "cdo copies a small variable that cannot be read"
	cdo -s sinfon "$mnt"/long/%*.nc >"$tmp/out" 2>&1 || fail "cdo and long names: $(cat "$tmp/out")"
fi
ncdump "$mnt"/long/%*.nc >"$tmp/out" 2>&1 || fail "ncdump and long names: $(tail -n 1 "$tmp/out")"
umount_store

# The same of Zarr V3, which has no fields that are arrays.
rm -r "$tmp/store.zarr/table"
for form in v3 shards; do
	sanitized && break # other tests read them
	in_v3 $form "$tmp/store.zarr"
	must_mount "$formed"
	"$python" "$here/netcdf.py" check "$tmp/store.zarr" "$mnt" || fail "files differ, $form"
	umount_store
done

# What options ask for, of what can be.
must_mount "$tmp/store.zarr" unlimited=t
ncdump -h "$mnt/f4.nc" | grep -q "t = UNLIMITED ; // (4 currently)" || fail "t has no records: $(ncdump -h "$mnt/f4.nc")"
ncdump -h "$mnt/long/square.nc" | grep -q "double square(t, t_2) ;" || fail "two dimensions have one name: $(ncdump -h "$mnt/long/square.nc")"
ncdump -h "$mnt/long/square.nc" | grep -q "t_2 = 4 ;" || fail "the second dimension has records: $(ncdump -h "$mnt/long/square.nc")"
same "dims of image" "$(getfattr --only-values -n user.zarrfs.dims "$mnt/squares/image" 2>/dev/null)" "_Anonymous_Dim_64, _Anonymous_Dim_64_2"
same "dims of both" "$(getfattr --only-values -n user.zarrfs.dims "$mnt/squares/both" 2>/dev/null)" "x, x_2, x_2_2"
same "columns of both" "$(head -n 1 "$mnt/squares/both.csv")" "n,x,x_2,x_2_2,both"
same "a line of both" "$(sed -n 9p "$mnt/squares/both.csv" | tr -d ' ')" "7,0.0,1.0,20.0,7.0"
same "columns of cube" "$(head -n 1 "$mnt/squares/cube.csv")" "n,_Anonymous_Dim_6,_Anonymous_Dim_6_2,_Anonymous_Dim_6_3,cube"
ncgen -k nc4 -o "$tmp/cdl.nc" <"$mnt/squares/dataset.cdl" || fail "ncgen of dataset.cdl"
ncdump -h "$tmp/cdl.nc" | grep -E '^	(double|short) ' | diff - /dev/fd/3 3<<'END' || fail "dimensions in dataset.cdl"
	short apart(_Anonymous_Dim_6, _Anonymous_Dim_4, _Anonymous_Dim_6_2, _Anonymous_Dim_6_3) ;
	double both(x, x_2, x_2_2) ;
	double cov(x, x_2_2) ;
	short cube(_Anonymous_Dim_6, _Anonymous_Dim_6_2, _Anonymous_Dim_6_3) ;
	double image(_Anonymous_Dim_64, _Anonymous_Dim_64_2) ;
	double pairs(complex, complex_2, complex_2_2) ;
	double x(x) ;
	double x_2(x_2) ;
END
umount_store
must_mount "$tmp/store.zarr" nc=cdf2
same "the format of f4.nc" "$(ncdump -k "$mnt/f4.nc")" "64-bit offset"
same "what does not fit" "$(grep -c . "$mnt/long/dataset.nc" 2>&1 | grep -o "File too large")" "File too large"
eventually 60 grep -q "cannot open 'long/dataset.nc': dimension 'w' of 2147483648 elements does not fit CDF-2" "$log" || fail "the log does not say why: $(cat "$log")"
umount_store
must_mount "$tmp/store.zarr" nc=cdf5
same "the format of wide.nc" "$(ncdump -k "$mnt/long/wide.nc")" cdf5
same "its last byte" "$(tail -c 1 "$mnt/long/wide.nc" | od -An -tu1 | tr -d ' ')" 7
umount_store

#!/bin/bash
# The netCDF-4 files: every type, groups, records; and what tools make of them, of which those are asked that are there.
. "$(dirname "$0")/functions.sh"

"$python" -c 'import netCDF4' 2>/dev/null || skip "no netCDF4-python"
"$python" "$here/nc4.py" make "$tmp/store.zarr" || exit 1
must_mount "$tmp/store.zarr"
"$python" "$here/nc4.py" check "$tmp/store.zarr" "$mnt" || fail "files differ"

# tool WHAT VARIABLE COMMAND...: if it is there, it copies the variable to $out, which is compared in the end; "" is none
tool()
{
	local what=$1 variable=$2
	shift 2
	command -v "$1" >/dev/null || return
	timeout 100 "$@" >"$tmp/out" 2>&1 </dev/null || fail "$what: status $?: $(head -c 1000 "$tmp/out")"
	[ -z "$variable" ] || copies+=("$out" "$variable")
	out=$tmp/out${#copies[@]}.nc
}

copies=()
out=$tmp/out.nc
tool "nccopy of be_f8" be_f8 nccopy "$mnt/be_f8.nc4" "$out"
tool "nccopy of le_i8" le_i8 nccopy "$mnt/le_i8.nc4" "$out"
tool "ncks of le_i8" le_i8 ncks -O -4 -L 1 "$mnt/le_i8.nc4" "$out"
tool "h5repack of le_i8" le_i8 h5repack "$mnt/le_i8.nc4" "$out"
tool "cp of be_u4" be_u4 cp "$mnt/be_u4.nc4" "$out"
tool "cdo copy" rec/r cdo -s -O -f nc4 copy "$mnt/rec/r.nc4" "$out"
"$python" "$here/nc4.py" equal "$tmp/store.zarr" "${copies[@]}" || fail "copies differ"
# What NCO makes of records is what it makes of a netCDF-4 file that libnetcdf wrote.
if command -v ncrcat >/dev/null && nccopy -k nc4 "$mnt/rec/dataset.rec.nc" "$tmp/written.nc"; then
	for command in "ncrcat -O -h" "ncra -O -h" "ncra -O -h -y max -d time,1,3" "ncrcat -O -h -d time,,,2"; do
		# shellcheck disable=SC2086 # words
		for file in "$tmp/written.nc" "$mnt/rec/dataset.rec.nc4"; do
			$command -v r,time "$file" "$file" "$tmp/records.nc" >"$tmp/out" 2>&1 || fail "$command: $(cat "$tmp/out")"
			ncdump -n records "$tmp/records.nc" | sort >"$tmp/${file##*.}.cdl" # they are in another order
		done
		cmp "$tmp/nc.cdl" "$tmp/nc4.cdl" || fail "'$command' makes something else of records: $(diff "$tmp/nc.cdl" "$tmp/nc4.cdl" | head -n 20)"
		rm "$tmp/nc.cdl"
	done
	tool "ncra of one" "" ncra -O "$mnt/rec/r.rec.nc4" "$tmp/mean.nc"
	tool "ncrcat of large" "" ncrcat -O "$mnt/rec/large.rec.nc4" "$mnt/rec/large.rec.nc4" "$tmp/both.nc"
	same "records of both" "$(ncdump -h "$tmp/both.nc" | grep currently | xargs)" "time3 = UNLIMITED ; // (6 currently)"
fi
tool "gdalinfo" "" gdalinfo "$mnt/rec/r.nc4"
tool "gdalmdiminfo" "" gdalmdiminfo "$mnt/a/dataset.nc4"
for f in behind record a/dataset dataset rec/dataset.rec; do
	tool "ncdump of $f" "" ncdump "$mnt/$f.nc4"
	tool "h5dump of $f" "" h5dump "$mnt/$f.nc4"
done
same "what the largest numbers are" "$(ncdump -v le_u8 "$mnt/le_u8.nc4" | grep -c 18446744073709551615)" 2
cmp <(cat "$mnt/dataset.nc4") "$mnt/dataset.nc4" || fail "two reads of a file differ"
[ -w "$mnt/le_i8.nc4" ] && [ "$(id -u)" != 0 ] && fail "le_i8.nc4 can be written"
hash=$(sha256sum "$mnt/dataset.nc4" "$mnt/le_i8.nc4" "$mnt/rec/r.rec.nc4" | cut -d' ' -f1 | xargs)
umount_store

# Other mounts have the same bytes; what they list; the name .nc with netCDF-4 content.
cp -r "$tmp/store.zarr" "$tmp/copy.zarr"
must_mount "$tmp/copy.zarr" list=flat:nc4
same "files of another mount" "$(sha256sum "$mnt/dataset.nc4" "$mnt/le_i8.nc4" "$mnt/rec/r.rec.nc4" | cut -d' ' -f1 | xargs)" "$hash"
same "what is listed" "$(cd "$mnt/rec" && printf "%s " *)" "dataset.nc4 large large.nc4 lat r r.nc4 time "
same "what is listed of 33 dimensions" "$(cd "$mnt/none" && printf "%s " *)" "dataset.nc4 deep gap gap.nc4 "
umount_store
must_mount "$tmp/store.zarr" nc=4,unlimited=time
same "the kind of le_i8.nc" "$(ncdump -k "$mnt/le_i8.nc")" "netCDF-4"
same "the kind of le_i8.cdf5.nc" "$(ncdump -k "$mnt/le_i8.cdf5.nc")" cdf5
same "the kind of dataset.nc" "$(ncdump -k "$mnt/a/dataset.nc")" "netCDF-4"
same "records of r.nc" "$(ncdump -h "$mnt/rec/r.nc" | grep currently | xargs)" "time = UNLIMITED ; // (4 currently)"
"$python" "$here/nc4.py" equal "$tmp/store.zarr" "$mnt/rec/r.nc" rec/r || fail "r.nc differs"
same "what is listed with nc=4" "$(cd "$mnt/rec" && printf "%s " *)" "large large.nc lat r r.nc time "
same "what is listed with nc=4 of 33 dimensions" "$(cd "$mnt/none" && printf "%s " *)" "deep gap gap.nc "
umount_store

# Records of 3 GiB, and of more than a chunk can have.
for name in 3 5; do
	mkdir -p "$tmp/rows.zarr/v$name"
	echo '{"zarr_format": 2}' >"$tmp/rows.zarr/.zgroup"
	echo '{"zarr_format": 2, "shape": [2, '$((name << 30))'], "chunks": [1, 1048576], "dtype": "|u1", "compressor": null, "filters": null, "fill_value": 0, "order": "C"}' >"$tmp/rows.zarr/v$name/.zarray"
	echo '{"_ARRAY_DIMENSIONS": ["time", "x'$name'"]}' >"$tmp/rows.zarr/v$name/.zattrs"
done
must_mount "$tmp/rows.zarr" list=nc4,unlimited=time
same "what is listed of long rows" "$(cd "$mnt" && printf "%s " *)" "dataset.nc4 v3.nc4 "
same "records of 3 GiB" "$(ncdump -h "$mnt/v3.nc4" | grep currently | xargs)" "time = UNLIMITED ; // (2 currently)"
umount_store
must_mount "$tmp/rows.zarr" list=nc4
same "what is listed of long rows without records" "$(cd "$mnt" && printf "%s " *)" "dataset.nc4 v3.nc4 v5.nc4 "
[ -e "$mnt/v5.rec.nc4" ] && fail "there is a v5.rec.nc4"
umount_store

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
tool "ncrcat" "" ncrcat -O "$mnt/rec/r.rec.nc4" "$mnt/rec/r.rec.nc4" "$tmp/both.nc"
same "records of both" "$(ncdump -h "$tmp/both.nc" | grep currently | xargs)" "time = UNLIMITED ; // (8 currently)"
tool "ncra" "" ncra -O "$mnt/rec/r.rec.nc4" "$tmp/mean.nc"
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
umount_store
must_mount "$tmp/store.zarr" nc=4,unlimited=time
same "the kind of le_i8.nc" "$(ncdump -k "$mnt/le_i8.nc")" "netCDF-4"
same "the kind of le_i8.cdf5.nc" "$(ncdump -k "$mnt/le_i8.cdf5.nc")" cdf5
same "the kind of dataset.nc" "$(ncdump -k "$mnt/a/dataset.nc")" "netCDF-4"
same "records of r.nc" "$(ncdump -h "$mnt/rec/r.nc" | grep currently | xargs)" "time = UNLIMITED ; // (4 currently)"
"$python" "$here/nc4.py" equal "$tmp/store.zarr" "$mnt/rec/r.nc" rec/r || fail "r.nc differs"
same "what is listed with nc=4" "$(cd "$mnt/rec" && printf "%s " *)" "large large.nc lat r r.nc time "
umount_store

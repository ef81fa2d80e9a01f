#!/bin/bash
# Four writers append records of different variables through netCDF files at once, two of them in either mount of one directory: in Zarr V2 with NCZarr's
# metadata, and in shards.
. "$(dirname "$0")/functions.sh"

"$python" -c 'import zarr, netCDF4' 2>/dev/null || skip "no zarr-python or netCDF4"
cc -o "$tmp/writer" "$here/write_records.c" -lnetcdf 2>"$tmp/said" || skip "no libnetcdf to compile with"
for form in v2 shards; do
	export STORES_FORM=$form
	for how in mixed open; do
		store=$tmp/$form.$how
		"$python" "$here/four_writers.py" make "$store" || exit 1
		must_mount "$store" rw,unlimited=time
		first=$mnt
		must_mount "$store" rw,unlimited=time
		"$python" "$here/write_records.py" run $how "$first" "$mnt" "$tmp/writer" || fail "$store: records are refused: $(tail -n 3 "$first.log" "$log")"
		umount_store "$first"
		umount_store
		"$python" "$here/write_records.py" check "$store" || fail "$store: records are lost"
	done
done

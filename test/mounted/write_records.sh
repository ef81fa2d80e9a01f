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

# zeros of a variable whose fill value is null are stored: other programs find anything where no chunk is
store=$tmp/null.zarr
for name in q r; do
	mkdir -p "$store/$name"
	echo '{"zarr_format": 2, "shape": [1, 3], "chunks": [1, 3], "dtype": "|i1", "fill_value": null, "order": "C", "compressor": null, "filters": null}' >"$store/$name/.zarray"
	echo '{"_ARRAY_DIMENSIONS": ["time", "x"]}' >"$store/$name/.zattrs"
	printf '\1\2\3' >"$store/$name/0.0"
done
echo '{"zarr_format": 2}' >"$store/.zgroup"
must_mount "$store" rw,unlimited=time
"$python" - "$mnt/dataset.rec.nc" <<'END' || fail "appending"
import sys, netCDF4
with netCDF4.Dataset(sys.argv[1], "r+") as file:
    file["q"][1] = 0
    file["r"][1] = 5
END
umount_store
same "a row of zeros" "$(od -An -tu1 "$store/q/1.0" | xargs)" "0 0 0"
same "the other's" "$(od -An -tu1 "$store/r/1.0" | xargs)" "5 5 5"
exit $((failures != 0))

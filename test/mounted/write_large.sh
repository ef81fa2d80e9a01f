#!/bin/bash
# netCDF files that are larger than memory= become arrays: each chunk is stored once, in bounded memory, and the values are those of the file.
. "$(dirname "$0")/functions.sh"
py() { "$python" "$here/write_large.py" "$@"; }
"$python" -c 'import zarr, netCDF4' 2>/dev/null || skip "no zarr or netCDF4 for $python"
unset MALLOC_PERTURB_ # as in bounded.sh

py fixed "$tmp/fixed.nc" || exit 1
py records "$tmp/records.nc" || exit 1

# copied STORE FILE [OPTIONS]: into a new store, with little memory
copied()
{
	"$ZARRFS" --create "$1" || fail "cannot make a store"
	must_mount "$1" "rw,memory=64M${3:+,$3}"
	cp "$2" "$mnt/dataset.nc" || fail "cannot copy"
	same "chunks stored a second time" "$(stat_value store_merges_total)" 0
	peak=$(peak_memory)
	echo "peak memory of the daemon: $((peak / 1024)) MiB; chunks stored: $(stat_value stores_total)"
	sanitized || [ "$peak" -le $((128 * 1024)) ] || fail "the daemon took $((peak / 1024)) MiB"
	umount_store
}
for file in fixed records; do
	copied "$tmp/$file.zarr" "$tmp/$file.nc"
	py check "$tmp/$file.zarr" "$tmp/$file.nc" || fail "values of $file"
done
copied "$tmp/shards.zarr#mode=v3" "$tmp/fixed.nc" chunk=1M,shard=4M

#!/bin/bash
# A netCDF file that is larger than memory= goes to a bucket as it comes; half of one leaves nothing there.
. "$(dirname "$0")/functions.sh"
. "$here/s3_functions.sh"
"$python" -c 'import zarr, netCDF4' 2>/dev/null || skip "no zarr or netCDF4 for $python"
begin_radosgw
s3 make bucket
sanitized && export LARGE_ROWS=100 # which shows the same with less
"$python" "$here/write_large.py" records "$tmp/records.nc" || exit 1
head -c $((${LARGE_ROWS:-200} * 3 / 4 << 20)) "$tmp/records.nc" >"$tmp/short.nc"

"$ZARRFS" --create s3://bucket/new.zarr || fail "cannot make a store"
TMPDIR=$tmp/nowhere must_mount s3://bucket/new.zarr rw,memory=64M
cp "$tmp/short.nc" "$mnt/dataset.nc" 2>"$tmp/said" && fail "half a file was copied"
eventually 60 grep -q "not written to its end.*'v0'" "$log" || fail "what became of half a file is not said: $(cat "$log")"
eventually 60 test ! -e "$mnt/.store/v7" || fail "half a file leaves chunks"
cp "$tmp/records.nc" "$mnt/dataset.nc" || fail "cannot copy"
same "chunks stored a second time" "$(stat_value store_merges_total)" 0
umount_store
must_mount s3://bucket/new.zarr
"$python" "$here/write_large.py" same "$tmp/records.nc" "$mnt/dataset.nc" || fail "what is in the bucket"

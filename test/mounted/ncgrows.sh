#!/bin/bash
# Two readers of a netCDF file while the store grows: neither sees a byte of the other's.
. "$(dirname "$0")/functions.sh"

"$python" -c 'import netCDF4' 2>/dev/null || skip "no netCDF4-python"
"$python" "$here/ncgrows.py" make "$tmp/store.zarr" || exit 1
must_mount "$tmp/store.zarr" metadata_ttl=1
"$python" "$here/ncgrows.py" check "$tmp/store.zarr" "$mnt" || fail "old and new are mixed"
umount_store

#!/bin/bash
# Real data: every variable of Debian's ferret-datasets, stored by zarr-python in many ways, reads back as netCDF has it.
. "$(dirname "$0")/functions.sh"

[ -d /usr/share/ferret-vis/data ] || skip "no ferret-datasets"
rounds=3
sanitized && rounds=1
"$python" "$here/ferret.py" write "$tmp/stores" "$rounds" || exit 1
for endian in little big; do
	must_mount "$tmp/stores" "endian=$endian"
	"$python" "$here/ferret.py" compare "$mnt" "$rounds" "$endian" || fail "with endian=$endian"
	umount_store
done

#!/bin/bash
# Writers past the kernel's pages, readers and mappings of one file.
. "$(dirname "$0")/functions.sh"
"$python" -c 'import zarr' 2>/dev/null || skip "no zarr-python"
"$python" -c 'import sys, zarr
zarr.open_group(sys.argv[1], mode="w").create_dataset("a", shape=(20, 1000), chunks=(3, 400), dtype="<f4", fill_value=0)[...] = 1' "$tmp/s.zarr" || exit 1
must_mount "$tmp/s.zarr" rw
# FUSE_DIRECT_IO_ALLOW_MMAP came with Linux 6.6.
past=0
printf '6.6\n%s\n' "$(uname -r)" | sort -CV && past=1
"$python" "$here/write_past.py" "$mnt" "$past" || fail "$(cat "$mnt/.zarrfs/log")"
umount_store

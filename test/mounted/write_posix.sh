#!/bin/bash
# Calls and their errors, as pjdfstest asks for them: those that the contract of a writable mount names.
. "$(dirname "$0")/functions.sh"
"$python" -c 'import zarr' 2>/dev/null || skip "no zarr-python"
"$python" -c 'import sys, zarr
g = zarr.open_group(sys.argv[1], mode="w")
g.create_dataset("a", shape=(4, 5), chunks=(2, 5), dtype="<f4", fill_value=0)[...] = 1
g.create_group("g").create_dataset("b", shape=3, dtype="<f4")' "$tmp/s.zarr" || exit 1
must_mount "$tmp/s.zarr" rw
"$python" "$here/write_posix.py" "$mnt" || fail "$(cat "$mnt/.zarrfs/log")"
umount_store
must_mount "$tmp/s.zarr"
for how in 'O_RDWR' 'O_WRONLY | os.O_CREAT' 'O_WRONLY | os.O_TRUNC'; do
	"$python" -c "import os, sys; os.open(sys.argv[1], os.$how)" "$mnt/a" 2>"$tmp/said"
	grep -q 'Errno 30' "$tmp/said" || fail "$how of a read-only mount: $(cat "$tmp/said")"
done
for how in 'link(sys.argv[1], sys.argv[1] + "c")' 'symlink("a", sys.argv[1] + "c")' 'mkfifo(sys.argv[1] + "c")'; do
	"$python" -c "import os, sys; os.$how" "$mnt/a" 2>"$tmp/said"
	grep -q 'Errno 30' "$tmp/said" || fail "$how of a read-only mount: $(cat "$tmp/said")"
done
umount_store

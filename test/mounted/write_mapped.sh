#!/bin/bash
# A mapping and a writer that changes the same pages, in one view or two of a variable (ROUNDS, SEED): neither undoes what the other did. A file that
# was changed through a mapping is cut, and one that is mapped becomes a flat file.
. "$(dirname "$0")/functions.sh"

needs gcc
gcc -o "$tmp/mapped" "$here/write_mapped.c" || exit 1
seed=${SEED:-1}
pages=600
"$python" - "$tmp/s.zarr" "$((pages * 4096))" <<'EOT' || exit 1
import json
import os
import sys
for name, size in (("a", int(sys.argv[2])), ("t", 100)):
    os.makedirs(os.path.join(sys.argv[1], name))
    meta = dict(zarr_format=2, shape=[size], chunks=[100000], dtype="|i1", compressor=None, order="C", fill_value=7, filters=None)
    json.dump(meta, open(os.path.join(sys.argv[1], name, ".zarray"), "w"))
    json.dump({"_ARRAY_DIMENSIONS": [name + "_x"]}, open(os.path.join(sys.argv[1], name, ".zattrs"), "w"))
json.dump({"zarr_format": 2}, open(os.path.join(sys.argv[1], ".zgroup"), "w"))
EOT
must_mount "$tmp/s.zarr" rw,unlimited=t_x
begin=$(($(stat -c %s "$mnt/a.nc") - pages * 4096))

# mapped FILE OFF WRITTEN OFF PAGES BYTES ROUNDS
mapped()
{
	"$tmp/mapped" "$@" "$seed" || fail "$*, seed $seed"
}

mapped "$mnt/a" 0 "$mnt/a" 0 4 1000 "${ROUNDS:-300}"
mapped "$mnt/a" 0 "$mnt/a" 0 $pages 1048576 "$((${ROUNDS:-300} / 10))"
mapped "$mnt/a.nc" "$begin" "$mnt/a.nc" "$begin" 60 1000 "${ROUNDS:-300}"
mapped "$mnt/a.nc" "$begin" "$mnt/a" 0 $pages 1000 "${ROUNDS:-300}"
mapped "$mnt/a" 0 "$mnt/a.nc" "$begin" $pages 1000 "${ROUNDS:-300}"

timeout -k 5 200 "$python" - "$mnt/t" <<'EOT' || fail "a file that a mapping has changed cannot be cut"
import mmap
import os
import sys
fd = os.open(sys.argv[1], os.O_RDWR)
os.ftruncate(fd, 1000)
m = mmap.mmap(fd, 1000)
m[10] = m[900] = 1
os.ftruncate(fd, 500)
os.ftruncate(fd, 1000)
assert os.pread(fd, 1000, 0) == b"\7" * 10 + b"\1" + b"\7" * 989, "what was cut away is there"
EOT

timeout -k 5 200 "$python" - "$mnt/t" <<'EOT' || fail "a mapped file that becomes a flat one has not what the mapping has"
import mmap
import os
import sys
path = sys.argv[1]
fd = os.open(path + ".new", os.O_RDWR | os.O_CREAT)
os.ftruncate(fd, 1000)
m = mmap.mmap(fd, 1000)
os.close(fd)
m[:500] = b"\3" * 500
os.rename(path + ".new", path)
m[500:] = b"\4" * 500
m.flush()
with open(path, "rb") as f:
	assert f.read() == b"\3" * 500 + b"\4" * 500
m.close()
EOT
umount_store

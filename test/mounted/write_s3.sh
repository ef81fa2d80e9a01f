#!/bin/bash
# Flat files of a bucket that are written against the model of write_model.py, and by two mounts to the same chunks; rows that are appended
# to different variables by two mounts.
. "$(dirname "$0")/functions.sh"
. "$here/s3_functions.sh"

"$python" -c 'import zarr, numcodecs' 2>/dev/null || skip "no zarr-python"
begin_radosgw
s3 make bucket
"$python" "$here/write_model.py" make "$tmp/model.zarr" || exit 1
"$python" "$here/write_grow.py" make "$tmp/grow" || exit 1
s3 put "$tmp/model.zarr" bucket/model.zarr
s3 put "$tmp/grow/nc" bucket/nc

must_mount s3://bucket/model.zarr rw
first=$mnt
"$python" "$here/write_model.py" run s3: "$first" "${WRITE_SEED:-$$}" "${WRITE_STEPS:-60}" "$tmp/left" || fail "seed ${WRITE_SEED:-$$}"
must_mount s3://bucket/model.zarr rw
"$python" "$here/two_writers.py" "$first/f4_big" "$mnt/f4_big" || fail "two mounts"
for at in "$first" "$mnt"; do
	umount_store "$at"
done

# what was stored is what another mount reads
must_mount s3://bucket/model.zarr
"$python" - "$mnt" "$tmp/left" <<'END' || fail "another mount reads something else"
import os
import pickle
import sys
left = pickle.load(open(sys.argv[2], "rb"))
for k in range(40):
    left["f4_big"] = left["f4_big"][:100 * k] + bytes([k + 1]) * 100 + left["f4_big"][100 * k + 100:]
for name, want in left.items():
    assert open(os.path.join(sys.argv[1], name), "rb").read() == want, name
END
umount_store

must_mount s3://bucket/nc rw
first=$mnt
must_mount s3://bucket/nc rw
"$python" - "$first" "$mnt" <<'END' || fail "rows of two mounts"
import os
import struct
import sys
import threading

def append(name, size):
    for k in range(3, 9):
        fd = os.open(name, os.O_RDWR)
        os.pwrite(fd, struct.pack("<i", k) * (size // 4), k * size)
        os.close(fd)

t = [threading.Thread(target=append, args=a) for a in [(sys.argv[1] + "/time", 4), (sys.argv[2] + "/b", 16)]]
[x.start() for x in t]
[x.join() for x in t]
END
for at in "$first" "$mnt"; do
	umount_store "$at"
done
must_mount s3://bucket/nc
same "time" "$(od -A n -t d4 -w36 "$mnt/time" | tr -s ' ')" " 0 1 2 3 4 5 6 7 8"
same "b" "$(od -A n -t d4 -w4 -j 48 "$mnt/b" -v | tr -s ' \n' ' ')" " $(for k in 3 4 5 6 7 8; do printf "$k %.0s" 1 2 3 4; done)"
umount_store

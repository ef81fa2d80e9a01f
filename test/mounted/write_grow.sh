#!/bin/bash
# A leading unlimited dimension grows by what is written behind its end, by truncate and by cp, with all that share it: in NCZarr, and in a
# store without its metadata by option.
. "$(dirname "$0")/functions.sh"

needs ncdump
"$python" -c 'import zarr' 2>/dev/null || skip "no zarr-python"
"$python" "$here/write_grow.py" make "$tmp/s" || exit 1
groups=(nc pure)
[ "${STORES_FORM:-v2}" = v2 ] || groups=(pure)
for group in "${groups[@]}"; do
	must_mount "$tmp/s/$group" "rw$([ "$group" = nc ] || echo ,unlimited=time)"
	"$python" "$here/write_grow.py" run "$tmp/s/$group" "$mnt" || fail "$group: $(tail -n 3 "$log")"
	dd if=/dev/zero of="$mnt/c" bs=200 seek=1 count=1 conv=notrunc status=none 2>/dev/null && fail "$group: c grew"
	umount_store
done
must_mount "$tmp/s/pure" rw
dd if=/dev/zero of="$mnt/a" bs=200 count=1 oflag=append conv=notrunc status=none 2>/dev/null && fail "a dimension grew that is not unlimited"
umount_store

# an array that is the top of its store grows by itself, and not that of the store beside it
"$python" -c 'import sys, zarr3; zarr3.pair(*sys.argv[1:])' "$tmp/tops" time || exit 1
must_mount "$tmp/tops" rw,unlimited=time
truncate -s 12 "$mnt/a" || fail "a does not grow: $(tail -n 1 "$log")"
same "the sizes of a and b" "$(stat -c %s "$mnt/a" "$mnt/b" | tr '\n' ' ')" "12 8 "
umount_store
must_mount "$tmp/tops/b" rw,unlimited=time
truncate -s 20 "$mnt/b" || fail "b does not grow: $(tail -n 1 "$log")"
umount_store
grep -q '"shape": \[5\]' "$tmp/tops/b/zarr.json" || fail "b: $(cat "$tmp/tops/b/zarr.json")"

# in a folder of stores NCZarr's names of dimensions are each store's own, in a group and at its top
"$python" - "$tmp/folder" <<'END' || exit 1
import json, os, sys
import numpy as np

def save(value, *path):
    os.makedirs(os.path.join(sys.argv[1], *path[:-1]), exist_ok=True)
    with open(os.path.join(sys.argv[1], *path), "w", encoding="utf8") as file:
        json.dump(value, file)

for where in ("top",), ("deep", "g"):
    for depth in range(1, len(where) + 1):
        last = depth == len(where)
        attrs = {"_nczarr_group": {"dimensions": {"time": {"size": 4, "unlimited": 1}} if last else {},
                                   "arrays": ["a", "b"] if last else [], "groups": [] if last else [where[depth]]}}
        if depth == 1:
            attrs["_nczarr_superblock"] = {"version": "2.0.0"}
        save({"zarr_format": 2}, *where[:depth], ".zgroup")
        save(attrs, *where[:depth], ".zattrs")
    for name in "ab":
        save({"zarr_format": 2, "shape": [4], "chunks": [4], "dtype": "<i4", "compressor": None, "fill_value": -1, "order": "C",
              "filters": None}, *where, name, ".zarray")
        save({"_ARRAY_DIMENSIONS": ["time"], "_nczarr_array": {"dimension_references": ["/".join(("",) + where[1:] + ("time",))],
                                                               "storage": "chunked"}}, *where, name, ".zattrs")
        np.arange(10, 14, dtype="<i4").tofile(os.path.join(sys.argv[1], *where, name, "0"))
END
must_mount "$tmp/folder" rw
for group in top deep/g; do
	{ truncate -s 8 "$mnt/$group/a" && truncate -s 16 "$mnt/$group/a"; } || fail "$group: truncate"
	same "$group/b, shorter and longer again" "$(od -An -td4 "$mnt/$group/b" | tr -s ' ')" " 10 11 -1 -1"
	printf '\1\0\0\0\2\0\0\0' >>"$mnt/$group/a" || fail "$group: rows behind the end"
done
umount_store
for group in top deep/g; do
	same "shapes in $group" "$(grep -ho '"shape": \[[^]]*' "$tmp/folder/$group/"[ab]/.zarray)" $'"shape": [6\n"shape": [6'
	same "the last rows of $group/a" "$(od -An -td4 "$tmp/folder/$group/a/1" | tr -s ' ')" " 1 2 -1 -1"
done

# the row with the longest string goes: an open file keeps its width, and those that open it meanwhile have the same
"$python" - "$tmp/texts" <<'END' || exit 1
import sys, numcodecs, zarr
g = zarr.open_group(sys.argv[1], "w")
v = g.create_dataset("s", shape=4, chunks=1, dtype=object, object_codec=numcodecs.VLenUTF8(), fill_value="")
v[:] = ["ab", "abc", "a", "longest"]
v.attrs["_ARRAY_DIMENSIONS"] = ["time"]
END
must_mount "$tmp/texts" rw,unlimited=time
"$python" - "$mnt/s" <<'END' || fail "a shorter variable of strings: $(tail -n 1 "$log")"
import os, sys, time
whole = b"".join(text.ljust(7, b"\0") for text in (b"ab", b"abc", b"a", b"longest"))
file = os.open(sys.argv[1], os.O_RDWR)
assert os.pread(file, 99, 0) == whole
os.ftruncate(file, 21)
for name in file, sys.argv[1]:
    assert os.stat(name).st_size == 21, (name, os.stat(name).st_size)
assert os.pread(file, 99, 0) == whole[:21] == open(sys.argv[1], "rb").read()
os.pwrite(file, b"longer\0" + b"ab\0\0\0\0\0", 14)
os.fsync(file)
assert os.fstat(file).st_size == 28
assert os.pread(file, 99, 0) == whole[:14] + b"longer\0ab\0\0\0\0\0"
os.ftruncate(file, 7)
os.close(file)
for n in range(600):  # the daemon hears of a close a moment later
    if open(sys.argv[1], "rb").read() == b"ab":
        break
    time.sleep(0.1)
else:
    sys.exit("it keeps its width when no program has it open")
END
umount_store
exit $((failures != 0))

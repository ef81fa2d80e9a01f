#!/bin/bash
# Directories: every name once, however they are read: in order, from a remembered place, again from the start; inode numbers agree.
. "$(dirname "$0")/functions.sh"

"$python" - "$tmp/store.zarr" <<'END' || exit 1
import json, os, sys
store = sys.argv[1]
array = json.dumps({"zarr_format": 2, "shape": [3], "chunks": [3], "dtype": "<i2", "compressor": None, "filters": None, "fill_value": 7, "order": "C"})
os.makedirs(store)
open(store + "/.zgroup", "w").write('{"zarr_format": 2}')
for i in range(700):
    folder = "%s/v%03d%s" % (store, i, "x" * (i % 200))
    os.mkdir(folder)
    open(folder + "/.zarray", "w").write(array)
for i in range(5):
    os.mkdir("%s/g%d" % (store, i))
    open("%s/g%d/.zgroup" % (store, i), "w").write('{"zarr_format": 2}')
END
must_mount "$tmp/store.zarr" list=flat
"$python" - "$mnt" "$tmp/store.zarr" <<'END' || fail "see above"
import ctypes, os, random, sys
mnt, store = sys.argv[1:]
want = sorted(n for n in os.listdir(store) if n[0] != ".")
bad = 0

def check(what, got, want):
    global bad
    if got != want:
        bad += 1
        print("%s: %.300r, not %.300r" % (what, got, want), file=sys.stderr)

class Dirent(ctypes.Structure):
    _fields_ = [("ino", ctypes.c_uint64), ("off", ctypes.c_int64), ("reclen", ctypes.c_ushort), ("type", ctypes.c_ubyte), ("name", ctypes.c_char * 256)]

libc = ctypes.CDLL(None, use_errno=True)
libc.opendir.restype = ctypes.c_void_p
libc.readdir64.restype = ctypes.POINTER(Dirent)
libc.telldir.restype = ctypes.c_long
for f in (libc.readdir64, libc.telldir, libc.rewinddir, libc.closedir):
    f.argtypes = [ctypes.c_void_p]
libc.seekdir.argtypes = [ctypes.c_void_p, ctypes.c_long]

def read_all(d):
    out = []
    while True:
        at = libc.telldir(d)
        e = libc.readdir64(d)
        if not e:
            return out
        out.append((at, e.contents.name.decode(), e.contents.ino, e.contents.type))

check("os.listdir", sorted(os.listdir(mnt)), want)
d = libc.opendir(mnt.encode())
first = read_all(d)
check("readdir", sorted(n for _, n, _, _ in first), sorted(want + [".", ".."]))
check("positions are different", len({at for at, _, _, _ in first}), len(first))
for at, name, ino, kind in random.Random(1).sample(first, 200):
    libc.seekdir(d, at)
    e = libc.readdir64(d).contents
    check("after seekdir to %d" % at, (e.name.decode(), e.ino, e.type), (name, ino, kind))
libc.seekdir(d, first[300][0])
check("the rest from there", [n for _, n, _, _ in read_all(d)], [n for _, n, _, _ in first[300:]])
libc.rewinddir(d)
check("after rewinddir", read_all(d), first)
libc.closedir(d)
DT_DIR, DT_REG = 4, 8
for at, name, ino, kind in first:
    if name in (".", ".."):
        continue
    st = os.stat(os.path.join(mnt, name))
    check("inode of " + name, st.st_ino, ino)
    check("type of " + name, kind, DT_DIR if name[0] == "g" else DT_REG)
    check("size of " + name, st.st_size, 0 if name[0] == "g" else 6) if name[0] == "v" else None
check("inode of .", os.stat(mnt).st_ino, next(i for _, n, i, _ in first if n == "."))
inner = os.path.join(mnt, "g0")
with os.scandir(inner) as entries:
    check("an empty group", [e.name for e in entries], [])
check("inode of ..", [e for e in read_all(libc.opendir(inner.encode())) if e[1] == ".."][0][2], os.stat(mnt).st_ino)
sys.exit(bad != 0)
END
before=$(cd "$mnt" && find . -printf '%P %i\n' | sort)
umount_store
must_mount "$tmp/store.zarr" list=flat
same "inode numbers in the next mount" "$(cd "$mnt" && find . -printf '%P %i\n' | sort | sha256sum)" "$(sha256sum <<<"$before")"
exit $((failures != 0))

"""write_grow.py make STORE: group `nc` with NCZarr's metadata and an unlimited time, group `pure` without.
write_grow.py run STORE MOUNT: appends to what is in MOUNT, and compares with what zarr-python reads of STORE."""
import os
import subprocess
import sys
import time

import numcodecs
import numpy as np
import zarr

import as_v3
import stores

FILL = -1


def make(path):
    """V3 has no group `nc`."""
    if stores.FORM == "v2":
        return make_v2(path)
    make_v2(path + ".v2")
    as_v3.copy_store(path + ".v2/pure", path + "/pure", stores.FORM == "shards")
    for var in ("time", "b"):
        make_old(stores.object_of("%s/pure/%s" % (path, var), (1,) if var == "time" else (1, 0))[0])


def make_old(path):
    hour_ago = time.time() - 3600
    os.utime(path, (hour_ago, hour_ago))


def make_v2(path):
    for name in ("nc", "pure"):
        store = zarr.DirectoryStore(path + "/" + name)
        g = zarr.group(store, overwrite=True)
        for var, shape, chunks, dims in [("time", (3,), (2,), ["time"]), ("a", (3, 50), (2, 20), ["time", "x"]),
                                         ("b", (3, 4), (2, 4), ["time", "y"]), ("c", (50,), (50,), ["x"])]:
            v = g.create_dataset(var, shape=shape, chunks=chunks, dtype="<f4" if var == "a" else "<i4", fill_value=FILL,
                                 compressor=numcodecs.Zlib(1))
            v[...] = np.arange(v.size).reshape(shape)
            if var in ("time", "b"):  # what lies behind the end is no fill
                v.resize((4,) + shape[1:])
                v[3:] = 99
                v.resize(shape)
                make_old(os.path.join(path, name, var, "1" if var == "time" else "1.0"))
            v.attrs["_ARRAY_DIMENSIONS"] = dims
            if name == "nc":
                v.attrs["_nczarr_array"] = {"dimension_references": ["/" + d for d in dims], "storage": "chunked"}
                v.attrs["_nczarr_attr"] = {"types": {"_nczarr_array": "|J0", "_nczarr_attr": "|J0", "_ARRAY_DIMENSIONS": "|J0"}}
        if name == "nc":
            g.attrs["_nczarr_group"] = {"dimensions": {"time": {"size": 3, "unlimited": 1}, "x": 50, "y": 4},
                                        "arrays": ["time", "a", "b", "c"], "groups": []}
            g.attrs["_nczarr_superblock"] = {"version": "2.0.0"}
            g.attrs["_nczarr_attr"] = {"types": {"_nczarr_group": "|J0", "_nczarr_superblock": "|J0", "_nczarr_attr": "|J0"}}
    zarr.consolidate_metadata(zarr.DirectoryStore(path + "/pure"))


def read(store, name):
    return stores.values(store, name)


def same(what, got, want):
    if not np.array_equal(got, want):
        sys.exit("%s is %s, not %s" % (what, got, want))


def soon(what, fn):
    end = time.time() + 60
    while not fn():
        if time.time() > end:
            sys.exit(what)
        time.sleep(0.05)


def run(store, mount):
    def path(name):
        return os.path.join(mount, name)

    row = np.arange(50, dtype="f4")
    model = {n: read(store, n) for n in ("time", "a", "b", "c")}
    inode = os.stat(path("a")).st_ino

    def rows(n):
        for v in ("time", "a", "b"):
            more = np.full((n - len(model[v]),) + model[v].shape[1:], FILL, model[v].dtype)
            model[v] = np.concatenate([model[v], more])

    def check(what):
        for v in model:
            same("%s, stored %s" % (what, v), read(store, v), model[v])
            same("%s, size of %s" % (what, v), os.path.getsize(path(v)), model[v].nbytes)
            same("%s, file %s" % (what, v), np.fromfile(path(v), model[v].dtype), model[v].ravel())

    # a row behind the end
    with open(path("a"), "ab") as f:
        f.write(row.tobytes())
    rows(4)
    model["a"][3] = row
    check("a row appended")
    same("inode", os.stat(path("a")).st_ino, inode)
    # others that share the dimension were grown with fill; they are written now
    with open(path("time"), "r+b") as f:
        f.seek(12)
        f.write(np.int32(33).tobytes())
    model["time"][3] = 33
    check("time of the row")
    # several, beyond a gap, while another has it open
    old = open(path("a"), "rb")
    with open(path("a"), "r+b") as f:
        f.seek(9 * 200)
        f.write((row * 2).tobytes() * 2)
        f.flush()
        same("size before it is stored", os.path.getsize(path("a")), 11 * 200)
        same("the gap", np.frombuffer(os.pread(old.fileno(), 200, 5 * 200), "f4"), np.full(50, FILL, "f4"))
    rows(11)
    model["a"][9:11] = row * 2
    check("rows beyond a gap")
    same("a file that was open before", np.frombuffer(os.pread(old.fileno(), 400, 9 * 200), "f4"), model["a"][9:11].ravel())
    old.close()
    # a part of a row is completed with fill
    with open(path("a"), "ab") as f:
        f.write(row[:7].tobytes())
    soon("the row is not completed", lambda: all(len(read(store, v)) == 12 for v in ("a", "b", "time")))
    soon("sizes after it was", lambda: os.path.getsize(path("a")) == 12 * 200 and os.path.getsize(path("time")) == 48)
    rows(12)
    model["a"][11, :7] = row[:7]
    check("a part of a row")
    # by size
    os.truncate(path("a"), 15 * 200)
    rows(15)
    check("truncate")
    for size in (15 * 200 + 1, 0):
        try:
            os.truncate(path("a"), size)
            sys.exit("truncated to %d" % size)
        except OSError:
            pass
    check("refused")
    # by room for more: what the C library does where there is none would write into the fill
    with open(path("a"), "r+b") as f:
        os.posix_fallocate(f.fileno(), 0, 15 * 200)
        os.posix_fallocate(f.fileno(), 15 * 200, 40 * 200)
        try:
            os.posix_fallocate(f.fileno(), 55 * 200, 1)
            sys.exit("room for a part of a row")
        except OSError:
            pass
    rows(55)
    check("room")
    os.truncate(path("a"), 15 * 200)
    for v in ("time", "a", "b"):
        model[v] = model[v][:15]
    # a larger copy; a smaller one is none
    new = np.arange(17 * 50, dtype="f4").reshape(17, 50)
    with open(path("a"), "wb") as f:
        f.write(new.tobytes())
    rows(17)
    model["a"] = new
    check("a larger copy")
    # room for what replaces the file takes no rows away
    f = os.open(path("a"), os.O_RDWR | os.O_TRUNC)
    for end in 5 * 200, 17 * 200:
        os.posix_fallocate(f, 0, end)
        assert os.fstat(f).st_size == end, os.fstat(f).st_size
    os.close(f)
    check("room in an empty file")
    # the last dimension that many share
    with open(path("time"), "ab", buffering=0) as f:
        for k in range(5):
            f.write(np.int32(k).tobytes())
    rows(22)
    model["time"][17:] = np.arange(5)
    check("time appended")
    # fewer rows: the rest is gone for all, and fill when they come back
    os.truncate(path("a"), 7 * 200)
    for v in ("time", "a", "b"):
        model[v] = model[v][:7]
    check("fewer rows")
    os.truncate(path("a"), 10 * 200)
    rows(10)
    check("more rows again")
    # two writes behind the end of two variables at once: neither clears what the other has written
    fds = [os.open(path(v), os.O_RDWR) for v in ("time", "a")]
    os.pwrite(fds[0], np.int32(70).tobytes(), 40)
    os.pwrite(fds[1], row.tobytes(), 10 * 200)
    os.close(fds[1])
    os.close(fds[0])
    rows(11)
    model["time"][10] = 70
    model["a"][10] = row
    check("two at once")
    # rows that another writer has stored, but not their number yet, stay; what was left by making it shorter does not
    if len(model["b"]) % 2 == 0:
        sys.exit("the last chunk has no room")
    raw = [bytes(numcodecs.Zlib(1).encode(rows.tobytes())) for rows in (model["b"][8:10], np.concatenate([model["b"][10:], np.full((1, 4), 71, "i4")]))]
    stores.put_chunks(os.path.join(store, "b"), {(4 + n, 0): raw[n] for n in (0, 1)})  # which lie in one shard
    with open(path("a"), "ab") as f:
        f.write(row.tobytes())
    rows(12)
    model["a"][11] = row
    model["b"][11] = 71
    check("another's row")
    os.truncate(path("a"), 22 * 200)
    rows(22)
    nc = path("a.nc")
    out = subprocess.run(["ncdump", "-h", nc], capture_output=True, text=True).stdout
    if "time = 22" not in out and "(22 currently)" not in out:
        sys.exit("ncdump has another length of time: " + out)


if sys.argv[1] == "make":
    make(sys.argv[2])
else:
    run(sys.argv[2], sys.argv[3])

"""write_model.py make STORE: arrays of many types, orders and codecs; make3: the same of Zarr V3, sharded or not.
write_model.py run STORE MOUNT SEED STEPS [LEFT]: does to the flat files in MOUNT what programs do, and to plain bytes the same; both must be alike
after each step, and what zarr-python reads in STORE after each fsync (where that is a directory).
write_model.py check STORE FILE: zarr-python reads the bytes that `run` left in FILE.
`run` writes what it left to LEFT, or STORE.left."""
import json
import mmap
import os
import pickle
import random
import sys
import time
import zipfile

import numcodecs
import numpy as np
import zarr

import as_v3
import zarr3
from zarr3 import BIG, LITTLE, ZIP

KINDS = {
    "f8_zlib": dict(shape=(7, 10, 11), chunks=(3, 4, 5), dtype="<f8", compressor=numcodecs.Zlib(1), fill_value=1.5),
    "f4_big": dict(shape=(40, 50), chunks=(16, 16), dtype=">f4", compressor=numcodecs.Blosc("lz4"), fill_value=0),
    "i2_raw": dict(shape=(100, 33), chunks=(10, 33), dtype="<i2", compressor=None, fill_value=-1),
    "u1_slash": dict(shape=(300, 7), chunks=(100, 3), dtype="|u1", compressor=numcodecs.Zstd(1), fill_value=9, dimension_separator="/"),
    "i8_f": dict(shape=(20, 30), chunks=(7, 11), dtype="<i8", compressor=numcodecs.LZ4(), order="F", fill_value=0),
    "i4_delta": dict(shape=(5000,), chunks=(999,), dtype="<i4", compressor=numcodecs.GZip(1), filters=[numcodecs.Delta("<i4")], fill_value=3),
    "c8_null": dict(shape=(9, 9), chunks=(4, 4), dtype="<c8", compressor=numcodecs.BZ2(1), fill_value=None),
    "s5": dict(shape=(50,), chunks=(8,), dtype="|S5", compressor=numcodecs.Blosc("zstd", shuffle=2), fill_value=b""),
    "b1": dict(shape=(64, 64), chunks=(64, 10), dtype="|b1", compressor=numcodecs.Zlib(1), fill_value=False),
    "m8": dict(shape=(31,), chunks=(7,), dtype="<M8[s]", compressor=numcodecs.Zlib(1), fill_value=0),
    "scalar": dict(shape=(), chunks=(), dtype="<f8", compressor=None, fill_value=2.5),
    "big_one": dict(shape=(1500, 300), chunks=(500, 300), dtype="<f4", compressor=numcodecs.Blosc("lz4"), fill_value=0),
}
ZSTD = {"name": "zstd", "configuration": {"level": 1, "checksum": False}}
BLOSC = {"name": "blosc", "configuration": {"cname": "lz4", "clevel": 5, "shuffle": "shuffle", "typesize": 4, "blocksize": 0}}
CRC = {"name": "crc32c"}
TURN = {"name": "transpose", "configuration": {"order": [1, 0]}}
KINDS3 = {
    "t_gzip": dict(shape=(7, 10, 11), chunks=(3, 4, 5), data_type="float64", fill=1.5, codecs=[LITTLE, ZIP]),
    "t_big": dict(shape=(40, 50), chunks=(16, 16), fill=0, codecs=[BIG, BLOSC]),
    "t_turned": dict(shape=(20, 30), chunks=(7, 11), data_type="int64", fill=-3, codecs=[TURN, LITTLE, ZSTD, CRC]),
    "t_scalar": dict(shape=(), chunks=(), data_type="int16", fill=7, codecs=[LITTLE]),
    "s_gzip": dict(shape=(70, 33), chunks=(32, 16), data_type="int16", fill=-1, codecs=[zarr3.sharding([8, 8], [LITTLE, ZIP])]),
    "s_raw": dict(shape=(300, 7), chunks=(100, 6), data_type="uint8", fill=9, codecs=[zarr3.sharding([25, 3], [{"name": "bytes"}], big=True, start=True)]),
    "s_turned": dict(shape=(41, 50), chunks=(16, 16), fill=2, codecs=[zarr3.sharding([16, 4], [TURN, LITTLE, BLOSC])]),
    "s_in_shard": dict(shape=(50, 40), chunks=(24, 20), fill=1, codecs=[zarr3.sharding([12, 10], [zarr3.sharding([4, 5], [LITTLE, ZIP], start=True)])]),
    "s_packed": dict(shape=(3000,), chunks=(1000,), data_type="int32", fill=5, codecs=[zarr3.sharding([100], [LITTLE, CRC], big=True), ZSTD, CRC]),
    "s_big": dict(shape=(1500, 300), chunks=(1000, 300), fill=0, codecs=[zarr3.sharding([100, 150], [LITTLE, BLOSC])]),
}


def make3(store):
    documents = {"": zarr3.group(), **{name: zarr3.array(**how) for name, how in KINDS3.items()}}
    if store.endswith(".zip"):
        with zipfile.ZipFile(store, "w") as z:
            for name, d in documents.items():
                z.writestr(os.path.join(name, "zarr.json"), json.dumps(d))
        return
    for name, d in documents.items():
        os.makedirs(os.path.join(store, name))
        with open(os.path.join(store, name, "zarr.json"), "w", encoding="utf8") as f:
            json.dump(d, f)


def make(store):
    kind = zarr.ZipStore if store.endswith(".zip") else zarr.DirectoryStore
    s = kind(store)
    g = zarr.group(s, overwrite=True)
    rng = np.random.default_rng(5)
    for name, how in KINDS.items():
        a = g.create_dataset(name, **how)
        a.attrs["_ARRAY_DIMENSIONS"] = ["%s_%d" % (name, d) for d in range(a.ndim)]
        if name == "i4_delta":  # what is absent is its fill value
            continue
        if a.dtype.kind == "S":
            a[...] = rng.integers(1000, 99999, a.shape).astype("S5")
        elif a.dtype.kind == "b":
            a[...] = rng.integers(0, 2, a.shape) > 0
        else:
            a[...] = rng.integers(0, 100, a.shape).astype(a.dtype)
    if hasattr(s, "close"):
        s.close()


def native(a):
    return np.asarray(a).astype(a.dtype.newbyteorder("=")).tobytes()


def read_key(store, key):
    try:
        if store.endswith(".zip"):
            with zipfile.ZipFile(store) as z:
                return z.read(key)
        with open(os.path.join(store, key), "rb") as f:
            return f.read()
    except (KeyError, FileNotFoundError):
        return None


def bytes_of(store, name):
    if name in KINDS3:
        return native(as_v3.values(lambda key: read_key(store, key), name))
    kind = zarr.ZipStore if store.endswith(".zip") else zarr.DirectoryStore
    return native(zarr.open_group(kind(store), mode="r")[name][...])


def some(rng, name, n, at):
    """n bytes for offset at that elements of the type may be."""
    if name == "b1":
        return bytes(rng.randrange(2) for _ in range(n))
    if name == "s5":
        return bytes(rng.randrange(65, 90) for _ in range(n))
    return rng.randbytes(n)


class One:
    def __init__(self, mount, name, rng):
        self.path, self.name, self.rng = os.path.join(mount, name), name, rng
        with open(self.path, "rb") as f:
            self.model = bytearray(f.read())
        self.fd = os.open(self.path, os.O_RDWR)

    def piece(self):
        size = len(self.model)
        off = self.rng.randrange(size)
        return off, min(size - off, self.rng.choice([1, 3, 8, 100, 4096, 70000, size]))

    def pwrite(self):
        off, n = self.piece()
        b = some(self.rng, self.name, n, off)
        done = 0
        while done < n:
            done += os.pwrite(self.fd, b[done:], off + done)
        self.model[off:off + n] = b

    def pread(self):
        off, n = self.piece()
        got = os.pread(self.fd, n, off)
        assert got == bytes(self.model[off:off + n]), (self.name, off, n)

    def mapped(self):
        off, n = self.piece()
        with mmap.mmap(self.fd, 0) as m:
            b = some(self.rng, self.name, n, off)
            m[off:off + n] = b
            if self.rng.randrange(2):
                m.flush()
        self.model[off:off + n] = b

    def reopen(self):
        os.close(self.fd)
        self.fd = os.open(self.path, self.rng.choice([os.O_RDWR, os.O_RDWR | os.O_APPEND * 0]))

    def rewrite(self):
        """As cp does."""
        os.close(self.fd)
        b = some(self.rng, self.name, len(self.model), 0)
        with open(self.path, "wb", buffering=self.rng.choice([0, 1000, 65536])) as f:
            f.write(b)
        self.model[:] = b
        self.fd = os.open(self.path, os.O_RDWR)

    def truncate_and_nothing(self):
        os.close(self.fd)
        with open(self.path, "wb"):
            assert os.path.getsize(self.path) == 0
        end = time.time() + 60
        while os.path.getsize(self.path) != len(self.model) and time.time() < end:  # until the kernel has let it go
            time.sleep(0.01)
        self.fd = os.open(self.path, os.O_RDWR)

    def whole(self):
        with open(self.path, "rb") as f:
            assert f.read() == bytes(self.model), self.name

    def drop(self):
        os.posix_fadvise(self.fd, 0, 0, os.POSIX_FADV_DONTNEED)


def run(store, mount, seed, steps, left):
    rng = random.Random(seed)
    readable = os.path.isdir(store)
    files = {name: One(mount, name, rng) for name in (KINDS3 if os.path.exists(os.path.join(mount, "t_scalar")) else KINDS)}
    for step in range(steps):
        f = files[rng.choice(list(files))]
        what = rng.choices(["pwrite", "pread", "mapped", "reopen", "rewrite", "truncate_and_nothing", "whole", "drop", "fsync"],
                           [10, 6, 3, 1, 1, .3, 2, 2, 1.5])[0]
        try:
            if what == "fsync":
                os.fsync(f.fd)
                if readable:
                    assert bytes_of(store, f.name) == bytes(f.model), "what is stored is something else"
            else:
                getattr(f, what)()
            assert os.fstat(f.fd).st_size == len(f.model)
        except BaseException:
            print("seed %d, step %d: %s of %s" % (seed, step, what, f.name), file=sys.stderr)
            raise
    for f in files.values():
        f.whole()
        os.close(f.fd)
    with open(left, "wb") as f:
        pickle.dump({n: bytes(o.model) for n, o in files.items()}, f)


def check(store):
    with open(store + ".left", "rb") as f:
        left = pickle.load(f)
    for name, b in left.items():
        assert bytes_of(store, name) == b, "what is stored is another %s" % name


if sys.argv[1] == "make":
    make(sys.argv[2])
elif sys.argv[1] == "make3":
    make3(sys.argv[2])
elif sys.argv[1] == "run":
    run(sys.argv[2], sys.argv[3], int(sys.argv[4]), int(sys.argv[5]), (sys.argv + [sys.argv[2] + ".left"])[6])
else:
    check(sys.argv[2])

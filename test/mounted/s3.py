"""s3.py store STORE WANT: a consolidated store in the form of STORES_FORM, and below WANT the flat files that a mount of it must show
s3.py odd STORE WANT: one whose names have every odd character
s3.py many STORE N: N variables, consolidated
s3.py long STORE N: v, of N chunks of 128 KiB, wide, of two chunks of 4 MiB, packed, of 24 compressed chunks of 1 MiB, fields, of 48
    chunks of 4 MiB that are stored small, large, of three of 16 MiB, cubes, of 8 × 8 chunks of 1.5 MiB that are stored in a quarter of it, and grid, a small one
    with coordinates time, lat and lon, consolidated
s3.py index CEPH_CONF BUCKET KEY N: the index of BUCKET gets N more entries like the one of KEY, whose last six characters count up"""

import os
import string
import sys

import numcodecs
import numpy as np

import stores

VARIABLES = {  # name → shape, dtype, how
    "plain": ((24, 64, 128), "f4", {"chunks": (1, 64, 128), "compressor": None}),
    "packed": ((24, 64, 128), "i4", {"chunks": (4, 32, 128), "compressor": stores.BLOSC}),
    "checked": ((16, 64, 64), "i2", {"chunks": (1, 64, 64), "compressor": None, "filters": [numcodecs.CRC32()]}),
    "lat": ((64,), "f8", {"chunks": (64,)}),
    "deep/er/few": ((10, 10), "u1", {"chunks": (3, 10)}),
    "deep/scalar": ((), "f8", {}),
}
SPARSE = ((64, 32), "i4")  # of its 16 chunks the first and the last are there


def want_file(want, name, values):
    path = os.path.join(want, name)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "wb") as file:
        file.write(stores.flat(values))


def make_store(store, want):
    for number, (name, (shape, dtype, how)) in enumerate(VARIABLES.items()):
        values = stores.field(shape, dtype, number)
        stores.put(store, name, values, {"units": "1"}, **how)
        want_file(want, name, values)
    values = np.full(*SPARSE[:1], -7, SPARSE[1])
    values[:4], values[-4:] = 1, 2
    stores.put(store, "sparse", values, chunks=(4, 32), compressor=None, fill_value=-7, write_empty_chunks=False)
    want_file(want, "sparse", values)
    stores.consolidate(store)


def make_odd(store, want):
    """'/' divides keys, and NUL is in none; '.', '..' and '\\' (which zarr-python turns to '/') are no names of nodes."""
    names = ["a b", "a+b", "a%20b", "%", "a&b=c", "q?x#y", "é ü", "日本", "*()!'~", ";,:@$", "[x]{y}|^`", "\"<>", "-_.", "..."]
    names += ["all" + "".join(c for c in string.punctuation if c not in "/\\"), " begins and ends ", "x" * 200]
    for number, name in enumerate(names):
        values = stores.field((7, 5), "i4", number)
        for path in name, name + "/" + name[::-1] + "'s":
            stores.put(os.path.join(store, "nested" if "/" in path else "flat"), path, values, chunks=(4, 5))
            want_file(os.path.join(want, "nested" if "/" in path else "flat"), path, values)


def make_many(store, count):
    for number in range(int(count)):
        stores.put(store, "v%03d" % number, stores.field((5, 6), "f4", number), {"units": "K", "long_name": "number %d" % number}, chunks=(5, 6))
    stores.consolidate(store)


def make_long(store, count):
    values = np.arange(int(count), dtype="i4")[:, None] * np.ones(32768, "i4")
    stores.put(store, "v", values, chunks=(1, 32768), compressor=None)
    stores.put(store, "wide", np.arange(1 << 21, dtype="i4").reshape(2, -1), chunks=(1, 1 << 20), compressor=None)
    packed = np.random.default_rng(1).integers(0, 1 << 24, (24, 1 << 18), "i4")
    stores.put(store, "packed", packed, chunks=(1, 1 << 18), compressor=stores.BLOSC)
    stores.put(store, "large", np.arange(3 << 22, dtype="i4").reshape(3, -1), chunks=(1, 1 << 22), compressor=None)
    fields = np.broadcast_to(np.arange(48, dtype="i4")[:, None], (48, 1 << 20))
    stores.put(store, "fields", fields, chunks=(1, 1 << 20), compressor=stores.BLOSC)
    cubes = np.random.default_rng(2).integers(0, 1 << 8, (24, 1024, 1024), "i4")
    stores.put(store, "cubes", cubes, chunks=(24, 128, 128), compressor=stores.BLOSC)
    stores.coordinates(store, "", 4, 0, (3, 5))
    stores.put(store, "grid", stores.field((4, 3, 5), "f4", 0), {"_ARRAY_DIMENSIONS": ["time", "lat", "lon"]}, chunks=(4, 3, 5))
    stores.consolidate(store)


def extend_index(conf, bucket, key, count):
    """Entries of a bucket's index are values of its index object that begin with the key. Writing them there takes a second where putting
    so many objects takes minutes; the gateway lists them like any other."""
    import rados
    with rados.Rados(conffile=conf) as cluster, cluster.open_ioctx("default.rgw.buckets.index") as index:
        for each in index.list_objects():
            with rados.ReadOpCtx() as read:
                found, _ = index.get_omap_vals_by_keys(read, (key,))
                index.operate_read_op(read, each.key)
                entry = dict(found).get(key)
            if entry:
                break
        names = [key[:-6] + "%06d" % number for number in range(int(count))]
        for at in range(0, len(names), 1000):
            part = tuple(names[at:at + 1000])
            with rados.WriteOpCtx() as write:
                index.set_omap(write, part, tuple(entry.replace(key.encode(), name.encode()) for name in part))
                index.operate_write_op(write, each.key)


{"store": make_store, "odd": make_odd, "many": make_many, "long": make_long, "index": extend_index}[sys.argv[1]](*sys.argv[2:])

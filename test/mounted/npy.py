#!/usr/bin/python3
"""npy.py make STORE: arrays of all types that NumPy has. npy.py check STORE MNT ENDIAN: numpy.load of each .npy file gives the same."""

import os
import sys

import numcodecs
import numpy as np
import zarr

from stores import Check

STRUCT = np.dtype([("x", "<f4"), ("naïve\nname's", ">i2", (2, 3)), ("s", "S3"), ("in", [("a", "<u8"), ("b", "?")])])
TYPES = ["?", "i1", "u1", "<i2", ">i2", "<u4", ">i8", "<f2", ">f4", "<f8", "<c8", ">c16", "S5", "<U4", ">U4", "V3",
         "<M8[ns]", ">M8[10us]", "<m8[D]", STRUCT]


def values(dtype, shape):
    dtype = np.dtype(dtype)
    if dtype.kind in "SU":
        return np.array(["", "a", "bcd"] * 8, dtype)[:int(np.prod(shape))].reshape(shape)
    if dtype.fields:
        return np.frombuffer(bytes(i % 2 if i % 7 else i % 60 for i in range(int(np.prod(shape)) * dtype.itemsize)), dtype).reshape(shape)
    if dtype.kind == "V":
        return np.frombuffer(bytes(range(int(np.prod(shape)) * dtype.itemsize)), dtype).reshape(shape)
    return np.arange(np.prod(shape)).astype(dtype).reshape(shape)


def make(store):
    group = zarr.open_group(zarr.DirectoryStore(store), "w")
    for i, dtype in enumerate(TYPES):
        group.create_dataset("t%02d" % i, data=values(dtype, (3, 4)), chunks=(2, 3))
    group.create_dataset("f4", data=values("f4", (7,)), chunks=(2,))
    group.create_dataset("scalar", data=np.float64(2.5))
    group.create_dataset("none", shape=(0, 5), dtype="i4")
    group.create_dataset("F", data=values("i4", (4, 6)), order="F", chunks=(3, 4))
    text = group.create_dataset("text", shape=3, dtype=object, object_codec=numcodecs.VLenUTF8())
    text[:] = ["ä", "", "abc"]
    group.create_dataset("json", shape=1, dtype=object, object_codec=numcodecs.JSON())


def check(store, mnt, endian):
    c = Check()
    group = zarr.open_group(store, "r")
    for name, array in group.arrays():
        if name == "json":
            continue
        path = os.path.join(mnt, name + ".npy")
        want = array[...]
        if name == "text":
            want = np.array([t.encode() for t in want])
        for mode in [None, "r"]:
            if mode and not want.size:
                continue
            got = np.load(path, mmap_mode=mode)
            c.same("shape of " + name, got.shape, want.shape)
            order = {"native": "=", "big": ">", "little": "<", "stored": None}[endian]
            c.same("type of " + name, got.dtype, want.dtype.newbyteorder(order) if order else want.dtype)
            c.same("bytes of " + name, got.tobytes(), want.astype(got.dtype).tobytes())
            c.that(got.flags.c_contiguous, name + " is not in C order")
            if mode:
                c.same("offset of " + name, got.offset, 4096)
    return c.failed != 0


if sys.argv[1] == "make":
    make(sys.argv[2])
else:
    sys.exit(check(*sys.argv[2:]))

"""Zip archives of one store as different programs write them, and an archive of very many members.

zip.py make DIR            a store in DIR/x.zarr, archives of it beside it
zip.py many FILE           100,001 members
zip.py replace FILE N      the archive anew, by rename, its array all N
"""
import os
import subprocess
import sys
import zipfile

import numpy as np
import numcodecs
import zarr


def fill(group):
    rng = np.random.default_rng(1)
    group.attrs["title"] = "zipped"
    group.create_dataset("raw", data=rng.integers(0, 9, (300, 70), "i4"), chunks=(100, 70), compressor=None)
    group.create_dataset("lz4", data=rng.random((50, 40, 30)), chunks=(20, 20, 20),
                         compressor=numcodecs.Blosc("lz4"))
    group.create_dataset("big", data=rng.integers(0, 99, 600000, "i8"), chunks=400000, compressor=numcodecs.Blosc("zstd"))
    group.create_dataset("sub/été", data=np.arange(7, dtype="f4"), chunks=3)
    group.create_dataset("sub/scalar", shape=(), dtype="i8", data=42)
    group.create_dataset("sparse", shape=(100,), chunks=(10,), dtype="f8", fill_value=1.5)[15:17] = 7
    group.create_dataset("nested", data=np.arange(100).reshape(10, 10), chunks=(5, 5), dimension_separator="/")


def members(top):
    for path, _, files in os.walk(top):
        for name in files:
            yield os.path.relpath(os.path.join(path, name), top)


def with_python(path, top, method, **more):
    with zipfile.ZipFile(path, "w", method) as z:
        for name in members(top):
            with z.open(zipfile.ZipInfo(name) if method == zipfile.ZIP_STORED else name, "w", **more) as f:
                f.write(open(os.path.join(top, name), "rb").read())


def make(folder):
    top = os.path.join(folder, "x.zarr")
    fill(zarr.open_group(top, mode="w"))
    with zarr.ZipStore(os.path.join(folder, "zarr-python.zip"), mode="w") as store:
        fill(zarr.open_group(store, mode="w"))
    with_python(os.path.join(folder, "stored.zip"), top, zipfile.ZIP_STORED)
    with_python(os.path.join(folder, "deflated.zip"), top, zipfile.ZIP_DEFLATED)
    with_python(os.path.join(folder, "zip64.zip"), top, zipfile.ZIP_STORED, force_zip64=True)
    zip_tool = lambda name, cwd, *what: subprocess.run(
        ["zip", "-q", "-r", os.path.join(folder, name), *what], cwd=cwd, check=True)
    zip_tool("tool.zip", top, ".")
    zip_tool("tool-prefix.zip", folder, "x.zarr")
    zip_tool("tool-stored.zip", top, "-0", ".")
    with open(os.path.join(folder, "self-extracting.zip"), "wb") as f:
        f.write(b"#!/bin/sh\nexit 1\n" + open(os.path.join(folder, "tool.zip"), "rb").read())


def many(path):
    with zipfile.ZipFile(path, "w") as z:
        z.writestr(".zgroup", '{"zarr_format": 2}')
        for a in range(10):
            z.writestr("a%d/.zarray" % a, '{"zarr_format":2,"shape":[10000],"chunks":[1],"dtype":"<i4","compressor":null,'
                       '"filters":null,"order":"C","fill_value":0}')
            for i in range(9999):
                z.writestr("a%d/%d" % (a, i), np.int32(i).tobytes())


def replace(path, n):
    with zarr.ZipStore(path + ".new", mode="w") as store:
        zarr.open_group(store, mode="w").create_dataset(
            "v", data=np.full(100000, int(n), "i4"), chunks=10000, compressor=None)
    os.rename(path + ".new", path)


{"make": make, "many": many, "replace": replace}[sys.argv[1]](*sys.argv[2:])

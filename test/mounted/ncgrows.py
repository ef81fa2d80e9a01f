"""ncgrows.py make STORE | check STORE MNT: a netCDF file while its store grows: a program that has it open sees the old one to the end, one that opens it then the new one."""

import os
import sys
import time

import netCDF4
import numpy as np
import zarr

import stores

SHAPE = (6, 50, 60)


def make(store):
    zarr.open_group(zarr.DirectoryStore(store), "w")
    stores.put(store, "t", np.arange(float(SHAPE[0])), {"_ARRAY_DIMENSIONS": ["t"]}, chunks=4)
    stores.put(store, "v", stores.field(SHAPE), {"_ARRAY_DIMENSIONS": ["t", "y", "x"]}, chunks=(4, 50, 60), fill_value=-1)


def check(store, mnt):
    check = stores.Check()
    path = mnt + "/v.nc"
    old = open(path, "rb", buffering=0)
    size = os.fstat(old.fileno()).st_size
    mapped = np.memmap(path, "u1", "r")
    before = old.read(70000)
    want = stores.field(SHAPE)
    time.sleep(1.1)
    for name, more in (("t", np.arange(6.0, 20.0)), ("v", stores.field((14,) + SHAPE[1:], seed=7))):
        array = zarr.open_array(zarr.DirectoryStore(store), "r+", path=name)
        array.append(more)
    time.sleep(1.5)
    with netCDF4.Dataset(path) as nc:
        nc.set_auto_mask(False)
        check.same("new length", len(nc.dimensions["t"]), 20)
        check.that((nc["v"][:6] == want).all() and (nc["v"][6:] == stores.field((14,) + SHAPE[1:], seed=7)).all(), "the new file differs")
        check.same("last time", nc["t"][-1], 19)
    old.seek(0)
    check.that(old.read(70000) == before, "the old file's beginning has changed")
    old.seek(size - want.nbytes)
    rest = b""
    while True:
        more = old.read(1 << 20)
        if not more:
            break
        rest += more
    check.that(rest == want.astype(">f4").tobytes(), "the old file's end differs: %d bytes of %d" % (len(rest), want.nbytes))
    check.that(bytes(mapped[-want.nbytes:]) == want.astype(">f4").tobytes(), "what was mapped differs")
    check.that(os.stat(path).st_size > size, "stat shows the old size")
    return check.failed


if __name__ == "__main__":
    if sys.argv[1] == "make":
        make(sys.argv[2])
    else:
        sys.exit(check(sys.argv[2], sys.argv[3]) != 0)

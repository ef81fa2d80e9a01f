"""write_replaced.py make STORE: an array v for each way in which another writer replaces it, in a group of its own.
write_replaced.py run STORE MOUNT: each is replaced while a program has it open; another one appends a row."""

import errno
import os
import sys

import as_v3
import stores
import zarr3

ROWS, BAND = 3, 4
BEFORE = "uint8", 4, 4  # type, length of a row, and of a chunk along it
AFTER = {"typed": ("uint32", 4, 4), "wide": ("uint8", 8, 8), "wider": ("uint8", 8, 4), "narrow": ("uint8", 2, 2), "narrower": ("uint8", 2, 4)}
ITEM = {"uint8": 1, "uint32": 4}


def document(store, name):
    return os.path.join(store, name, "v", "zarr.json")


def put(store, name, data_type, length, chunk):
    as_v3.save(document(store, name), zarr3.array((ROWS, length), (BAND, chunk), data_type, 7, [zarr3.LITTLE], dims=["time", "x"]))


def make(store):
    as_v3.save(os.path.join(store, "zarr.json"), zarr3.group())
    for name in AFTER:
        as_v3.save(os.path.join(store, name, "zarr.json"), zarr3.group())
        put(store, name, *BEFORE)


def run(store, mount):
    at = stores.Check()
    for name, after in AFTER.items():
        path, row = os.path.join(mount, name, "v"), ITEM[after[0]] * after[1]
        old = os.open(path, os.O_RDWR)
        os.pread(old, 1, 0)
        put(store, name, *after)
        stores.read(os.path.join(mount, ".zarrfs", "refresh"))
        new = os.open(path, os.O_RDWR)
        at.that(os.pwrite(new, b"\x11" * row, ROWS * row) == row, "%s: a row" % name)
        at.bytes(name, os.pread(new, 1000, ROWS * row), b"\x11" * row)
        os.close(new)
        at.error("%s: writing to what it was" % name, errno.EIO, os.pwrite, old, b"\x22", 0)
        at.error("%s: cutting what it was" % name, errno.EIO, os.ftruncate, old, 0)
        os.close(old)
        shape = as_v3.load(document(store, name))["shape"]
        at.that(shape == [ROWS + 1, after[1]], "%s: a row more gives %s" % (name, shape))
    at.end()


{"make": make, "run": run}[sys.argv[1]](*sys.argv[2:])

"""rewritten.py make STORE, then rewritten.py check STORE MOUNT: arrays are rewritten under open files
rewritten.py make_again STORE plain|consolidated, then rewritten.py check_again STORE MOUNT: they are, with other codecs, before metadata
are looked at again"""

import errno
import mmap
import os
import shutil
import sys
import time

import numpy as np
import zarr

import stores

OLD = stores.field((64, 64, 16), "<f4")
NEW = stores.field((32, 64, 16), "<f8", 9)
AGAIN = ("codec", "chunks", "own", "all")
SAME_SIZE = stores.field((64, 64, 16), "<i4", 5)


def make(store):
    stores.put(store + ".new", "a", NEW, chunks=(4, 64, 16), compressor=stores.ZSTD)
    for name in ("shape", "type", "grown", "gone", "swapped", "copied"):
        stores.put(store, name, OLD, chunks=(8, 64, 16), compressor=stores.ZSTD)


def replace(store, name, values):
    shutil.rmtree(os.path.join(store, name))
    stores.put(store, name, values, chunks=(8, 32, 16), compressor=stores.BLOSC)


def add_objects(new, array):
    """Those that the array has not, then the document."""
    copied = lambda source, to: to if os.path.exists(to) else shutil.copy2(source, to)
    shutil.copytree(new, array, dirs_exist_ok=True, copy_function=copied)
    for name in os.listdir(new):
        if name.endswith(("zarr.json", ".zarray")):
            shutil.copy2(os.path.join(new, name), os.path.join(array, name + ".new"))
            os.rename(os.path.join(array, name + ".new"), os.path.join(array, name))


def check(store, mount):
    at = stores.Check()
    for name, new in (("shape", NEW), ("type", SAME_SIZE)):
        path = os.path.join(mount, name)
        old_bytes, new_bytes = stores.flat(OLD), stores.flat(new)
        file = os.open(path, os.O_RDONLY)
        at.bytes("%s before" % name, os.pread(file, 5000, 0), old_bytes[:5000])
        replace(store, name, new)
        time.sleep(2.2)  # more than the time after which metadata are looked at again
        at.error("reading the open file of %s elsewhere" % name, errno.EIO, os.pread, file, 4096, 200000)
        os.close(file)
        at.same("size of %s" % name, os.stat(path).st_size, len(new_bytes))
        at.bytes("%s opened again" % name, stores.read(path), new_bytes)
        with open(path, "rb") as again, mmap.mmap(again.fileno(), 0, prot=mmap.PROT_READ) as memory:
            at.bytes("%s through mmap" % name, memory[:], new_bytes)

    # by directories and files that are older than the last look at the array
    for name in "swapped", "copied":
        path, new, array = os.path.join(mount, name), os.path.join(store + ".new", "a"), os.path.join(store, name)
        file = os.open(path, os.O_RDONLY)
        at.bytes("%s before" % name, os.pread(file, 5000, 0), stores.flat(OLD)[:5000])
        if name == "swapped":
            shutil.copytree(new, new + "2")
            time.sleep(0.1)
            at.bytes("%s before" % name, os.pread(file, 5000, 32768), stores.flat(OLD)[32768:37768])
            os.rename(array, array + ".old")
            os.rename(new + "2", array)
        else:
            shutil.copytree(new, array, dirs_exist_ok=True)  # with their times
        at.error("reading the open file of %s elsewhere" % name, errno.EIO, os.pread, file, 4096, 200000)
        os.close(file)
        at.bytes("%s opened again" % name, stores.read(path), stores.flat(NEW))

    path = os.path.join(mount, "gone")
    file = os.open(path, os.O_RDONLY)
    at.bytes("gone before", os.pread(file, 5000, 0), stores.flat(OLD)[:5000])
    shutil.rmtree(os.path.join(store, "gone"))
    time.sleep(2.2)
    at.error("reading the open file of an array that was deleted", errno.EIO, os.pread, file, 4096, 200000)
    os.close(file)
    at.error("opening it again", errno.ENOENT, os.open, path, os.O_RDONLY)

    path = os.path.join(mount, "grown")
    file = os.open(path, os.O_RDONLY)
    at.bytes("grown before", os.pread(file, 5000, 0), stores.flat(OLD)[:5000])
    stores.put(store, "grown.new", np.concatenate([OLD, OLD[:16] + 1]), chunks=(8, 64, 16), compressor=stores.ZSTD)
    add_objects(os.path.join(store, "grown.new"), os.path.join(store, "grown"))
    time.sleep(2.2)
    at.bytes("the open file of an array that grew", os.pread(file, 5000, 100000), stores.flat(OLD)[100000:105000])
    at.bytes("an array that grew, opened again", stores.read(path), stores.flat(np.concatenate([OLD, OLD[:16] + 1])))
    os.close(file)
    at.end()


def make_again(store, consolidated):
    for name in AGAIN:
        stores.put(store, name, OLD, {"_ARRAY_DIMENSIONS": ["z", "y", "x"]}, chunks=(8, 64, 16), compressor=None)
    if stores.FORM == "v2":
        zarr.open_group(store, "a")
    if consolidated:
        stores.consolidate(store)


def once_more(read, path):
    """What a file has at the second attempt, the first one may have failed."""
    try:
        return read(path)
    except (OSError, RuntimeError):
        return read(path)


def values_in_nc(name):
    import netCDF4

    def values(path):
        with netCDF4.Dataset(path) as nc:
            nc.set_auto_mask(False)
            return stores.flat(nc[name][...])
    return values


def check_again(store, mount):
    """Long before metadata are looked at by themselves: what the chunks do not fit makes that happen."""
    at = stores.Check()
    reads = {"codec": ("codec", stores.read), "chunks": ("chunks", stores.read), "own": ("own.nc", values_in_nc("own")), "all": ("dataset.nc", values_in_nc("all"))}
    for name in AGAIN:
        file = os.open(os.path.join(mount, name), os.O_RDONLY)
        os.posix_fadvise(file, 0, 0, os.POSIX_FADV_RANDOM)
        at.bytes("%s before" % name, os.pread(file, 100, 0), stores.flat(OLD)[:100])
        os.close(file)
    os.listdir(mount)
    for name in AGAIN:
        how = {"chunks": (16, 64, 16), "compressor": None} if name == "chunks" else {"chunks": (8, 64, 16), "compressor": stores.ZSTD}
        stores.put(store, name, OLD + 1, {"_ARRAY_DIMENSIONS": ["z", "y", "x"]}, **how)
    for name, (path, read) in reads.items():
        path = os.path.join(mount, path)
        try:
            at.bytes("%s, rewritten" % path, once_more(read, path), stores.flat(OLD + 1))
        except (OSError, RuntimeError) as error:
            at.that(False, "%s cannot be read twice after it was rewritten: %s" % (path, error))
    at.end()


if sys.argv[1] == "make":
    make(sys.argv[2])
elif sys.argv[1] == "check":
    check(sys.argv[2], sys.argv[3])
elif sys.argv[1] == "make_again":
    make_again(sys.argv[2], sys.argv[3] == "consolidated")
else:
    check_again(sys.argv[2], sys.argv[3])

"""write_replaced.py make STORE: an array v for each way in which another writer replaces it, in a group of its own.
write_replaced.py run STORE MOUNT: each is replaced while a program has it open; another one appends a row. Then the same where nothing tells the mount
before the program writes, and where the new one has another rank, or is only shorter."""

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
NOTHING = lambda f: None
ROW = lambda f: os.pwrite(f, b"\x22" * 4, 4 * ROWS)
UNTOLD = {  # flags, what is done before and after
    "append": (os.O_APPEND, NOTHING, lambda f: os.write(f, b"\x22" * 4)), "hole": (0, NOTHING, lambda f: os.pwrite(f, b"\x22" * 4, 4 * (ROWS + 1))),
    "longer": (0, NOTHING, lambda f: os.ftruncate(f, 4 * (ROWS + 2))), "shorter": (0, NOTHING, lambda f: os.ftruncate(f, 4)),
    "waits": (0, ROW, NOTHING), "waits_append": (os.O_APPEND, ROW, ROW), "inside": (0, NOTHING, lambda f: os.pwrite(f, b"\x22", 5))}
FLAT, DEEP = ((ROWS * 4,), (BAND * 4,), ["time"]), ((ROWS, 2, 2), (BAND, 2, 2), ["time", "y", "x"])
RANKS = {"flat": FLAT, "deep": DEEP, "scalar": ((), (), [])}


def document(store, name):
    return os.path.join(store, name, "v", "zarr.json")


def put(store, name, data_type, length, chunk, rows=ROWS):
    as_v3.save(document(store, name), zarr3.array((rows, length), (BAND, chunk), data_type, 7, [zarr3.LITTLE], dims=["time", "x"]))


def make(store):
    as_v3.save(os.path.join(store, "zarr.json"), zarr3.group())
    for name in ["cut", *AFTER, *RANKS, *(how + name for how in UNTOLD for name in AFTER)]:
        as_v3.save(os.path.join(store, name, "zarr.json"), zarr3.group())
        put(store, name, *BEFORE)


def opened(mount, name, flags=0):
    handle = os.open(os.path.join(mount, name, "v"), os.O_RDWR | flags)
    os.pread(handle, 1, 0)
    return handle


def written(handle, write):
    """It is stored, too."""
    write(handle)
    os.fsync(handle)


def untold(at, store, mount, name, after, how):
    flags, before, write = UNTOLD[how]
    old = opened(mount, how + name, flags)
    before(old)
    put(store, how + name, *after)
    at.error("%s, %s: what is untold" % (how, name), errno.EIO, written, old, write)
    at.error("%s, %s: again" % (how, name), errno.EIO, written, old, write)
    try:
        os.close(old)
    except OSError:
        pass
    at.same("%s, %s: rows" % (how, name), as_v3.load(document(store, how + name))["shape"][0], ROWS)
    if name == "wider":
        return  # elements are where they were: what waited may be among them
    at.same("%s, %s: files" % (how, name), os.listdir(os.path.dirname(document(store, how + name))), ["zarr.json"])


def ranked(at, store, mount, name, shape, chunk, dims):
    old = opened(mount, name)
    as_v3.save(document(store, name), zarr3.array(shape, chunk, "uint8", 7, [zarr3.LITTLE], dims=dims))
    stores.read(os.path.join(mount, ".zarrfs", "refresh"))
    new = opened(mount, name)
    size = os.fstat(new).st_size
    row = b"\x11" * (size // shape[0]) if shape else b""
    at.that(os.pwrite(new, b"\x11" + row, size - 1) == 1 + len(row), "%s: a row" % name)
    os.close(new)
    at.bytes(name, stores.read(os.path.join(mount, name, "v")), b"\7" * (size - 1) + b"\x11" + row)
    at.error("%s: writing to what it was" % name, errno.EIO, os.pwrite, old, b"\x22", 0)
    at.error("%s: reading what it was" % name, errno.EIO, os.pread, old, 1, 0)
    at.error("%s: closing what it was" % name, errno.EIO, os.close, old)


def cut(at, store, mount, name):
    """By another writer: what is appended goes behind the new end."""
    old = opened(mount, name, os.O_APPEND)
    put(store, name, *BEFORE, rows=1)
    for more in 2, 3:
        written(old, lambda f: os.write(f, b"\x33" * 4))
        at.same("%s: rows after %d" % (name, more), as_v3.load(document(store, name))["shape"][0], more)
    os.close(old)
    at.bytes(name, stores.read(os.path.join(mount, name, "v")), b"\7" * 4 + b"\x33" * 8)


def run(store, mount):
    at = stores.Check()
    cut(at, store, mount, "cut")
    for name, after in AFTER.items():
        for how in UNTOLD:
            untold(at, store, mount, name, after, how)
    for name, after in RANKS.items():
        ranked(at, store, mount, name, *after)
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
        at.error("%s: closing what it was" % name, errno.EIO, os.close, old)
        shape = as_v3.load(document(store, name))["shape"]
        at.that(shape == [ROWS + 1, after[1]], "%s: a row more gives %s" % (name, shape))
    at.end()


{"make": make, "run": run}[sys.argv[1]](*sys.argv[2:])

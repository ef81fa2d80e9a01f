"""moved.py make STORE: an array half of whose chunks are absent, of Zarr V2 or as STORES_FORM says
moved.py check STORE MOUNT moved|emptied|lost: takes the store, what is in it, or the array away while it is read"""

import os
import shutil
import sys
import time

import numpy as np

import stores

VALUES = stores.field((64, 64, 64), "<f4", 3) + 7


def make(store):
    values = np.full_like(VALUES, -1)
    values[::8] = VALUES[::8]
    stores.put(store, "v", values, chunks=(4, 64, 64), fill_value=-1, write_empty_chunks=False)


def check(store, mount, way):
    at, path, want = stores.Check(), os.path.join(mount, "v"), stores.flat(stores.values(store, "v"))
    file = os.open(path, os.O_RDONLY)
    plane = 64 * 64 * 4
    at.bytes("before", os.pread(file, 4096, 0), want[:4096])  # so that the other chunks are not there yet
    if way == "moved":
        os.rename(store, store + ".away")
    elif way == "emptied":
        for name in os.listdir(store):
            path_in = os.path.join(store, name)
            shutil.rmtree(path_in) if os.path.isdir(path_in) else os.unlink(path_in)
    else:
        shutil.rmtree(os.path.join(store, "v"))
    begun, errors = time.monotonic(), 0
    while time.monotonic() < begun + (60 if not errors else 4):
        for start in range(4 * plane, len(want), plane):
            try:
                got = os.pread(file, plane, start)
                errors = 0
                at.that(got == want[start:start + plane], "wrong data at %d after the store was %s: %r" % (start, way, got[:8]))
            except OSError:
                errors += 1
        time.sleep(0.3)
        os.posix_fadvise(file, 0, 0, os.POSIX_FADV_DONTNEED)
    at.that(errors, "the open file can still be read a minute after the store was %s" % way)
    try:
        got = stores.read(path)
        at.that(False, "opening it again gives %d bytes" % len(got))
    except OSError:
        pass
    at.end()


if sys.argv[1] == "make":
    make(sys.argv[2])
else:
    check(*sys.argv[2:])

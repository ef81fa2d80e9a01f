"""exchanged.py make FOLDER: stores v1 and v2, of one shape but whose chunks mean other elements, and a link cur to the first
exchanged.py check FOLDER MOUNT WAY: another store comes to be at the path that is mounted, while it is read"""

import os
import subprocess
import sys
import time

import numpy as np

import stores

ARRAYS = 20
SIDE, ROWS = 256, 64 * 256 * 4  # bytes of a row of chunks of the first store
ONE = np.arange(SIDE * SIDE, dtype="<i4").reshape(SIDE, SIDE)
TWO = ONE + 10 ** 6


def make(folder):
    for name, values, how in ("v1", ONE, {"chunks": (64, 64)}), ("v2", TWO, {"chunks": (64, 64), "dtype": ">i4"}):
        for k in range(ARRAYS):
            stores.put(os.path.join(folder, name), "a%02d" % k, values + k, compressor=None, **how)
        stores.consolidate(os.path.join(folder, name))
    hour = time.time() - 3600
    for where, _, files in os.walk(os.path.join(folder, "v2")):  # the second is older, and no ETag of it is one of the first
        for file in files:
            os.utime(os.path.join(where, file), (hour, hour))
    os.makedirs(os.path.join(folder, "parent"))
    for name in "v1", "v2":
        subprocess.run(["cp", "-a", os.path.join(folder, name), os.path.join(folder, "parent", name)], check=True)
    os.symlink("v1", os.path.join(folder, "cur"))
    os.symlink("v1", os.path.join(folder, "parent", "cur"))
    os.symlink("parent", os.path.join(folder, "above"))
    os.makedirs(os.path.join(folder, "second"))
    subprocess.run(["cp", "-a", os.path.join(folder, "v2"), os.path.join(folder, "second", "cur")], check=True)
    os.makedirs(os.path.join(folder, "bound"))


def flip(link, to):
    os.symlink(to, link + ".new")
    os.rename(link + ".new", link)


def exchange(folder, way):
    if way in ("link", "web"):
        flip(os.path.join(folder, "cur"), "v2")
    elif way == "above":
        flip(os.path.join(folder, "above"), "second")
    elif way == "rename":
        os.rename(os.path.join(folder, "v1"), os.path.join(folder, "gone"))
        os.rename(os.path.join(folder, "v2"), os.path.join(folder, "v1"))
    elif way == "bind":
        subprocess.run(["mount", "--bind", os.path.join(folder, "v2"), os.path.join(folder, "bound")], check=True)
    else:  # each array by itself
        for k in range(ARRAYS):
            name = "a%02d" % k
            subprocess.run(["mount", "--bind", os.path.join(folder, "v2", name), os.path.join(folder, "v1", name)], check=True)


def check(folder, mount, way):
    at, files = stores.Check(), []
    for k in range(ARRAYS):
        files.append(os.open(os.path.join(mount, "a%02d" % k), os.O_RDONLY))
        os.posix_fadvise(files[k], 0, 0, os.POSIX_FADV_RANDOM)
        at.bytes("before", os.pread(files[k], 64, 0), stores.flat(ONE + k)[:64])  # other chunks were not read yet
    exchange(folder, way)
    if way == "web":
        time.sleep(1.1)  # for a second the metadata that were looked at last hold
    began, new = time.monotonic(), 0
    for k in range(ARRAYS):
        one, two = stores.flat(ONE + k), stores.flat(TWO + k)
        for start in range(ROWS, len(one), ROWS):
            try:
                got = os.pread(files[k], 4096, start)
            except OSError:
                continue
            of_one = got and got in (one[start:start + len(got)], two[start:start + len(got)])  # fewer, where what follows has failed
            at.that(of_one, "%s: bytes of an open file at %d are of neither store" % (way, start))
        try:
            got = stores.read(os.path.join(mount, "a%02d" % k))
            new += got == two
            at.that(got in (one, two), "%s: what is opened then is of neither store" % way)
        except OSError as error:
            at.that(False, "%s: cannot be opened: %s" % (way, error))
        time.sleep(0.02)
    print("%s: %d of %d were of the new store at once, in %.1f s" % (way, new, ARRAYS, time.monotonic() - began))
    at.that(new, "%s: the new store was never seen" % way)
    at.end()


if sys.argv[1] == "make":
    make(sys.argv[2])
else:
    check(*sys.argv[2:])

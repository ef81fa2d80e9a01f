"""replaced.py make STORE: arrays of one object, all elements the same
replaced.py write ARRAY SECONDS: replaces the object by another again and again, by rename
replaced.py read FILE SECONDS: reads it again and again, whole, through the page cache and around it
replaced.py idle FILE ARRAY: replaces it while the file is open and not read
replaced.py last ARRAY: what it holds now"""

import mmap
import os
import sys
import time

import numpy as np

import stores

SHAPE = (128, 128)  # 64 KiB
CHUNK = (64, 128) if stores.FORM == "shards" else SHAPE
LAYOUTS = {"raw": None, "packed": stores.ZLIB}


def make(store):
    for name, codec in LAYOUTS.items():
        stores.put(store, name, np.full(SHAPE, 1, "<i4"), chunks=CHUNK, compressor=codec)


def replace(array, number):
    chunk, codec = np.full(CHUNK, number, "<i4"), LAYOUTS[os.path.basename(array)]
    stored = bytes(codec.encode(chunk)) if codec else chunk.tobytes()
    stores.put_chunks(array, {(n, 0): stored for n in range(SHAPE[0] // CHUNK[0])})


def write(array, seconds):
    number, end = 1, time.monotonic() + seconds
    while time.monotonic() < end:
        number += 1
        replace(array, number)
        time.sleep(0.003)


def after_pauses(read, want):
    """What is read after a pause in which pages that are too old begin anew; on a busy machine that may take another one."""
    for _ in range(3):
        time.sleep(4)
        got = np.frombuffer(read(), "<i4")[0]
        if got == want:
            break
    return got


def idle(path, array):
    check = stores.Check()
    holder = os.open(path, os.O_RDONLY)
    before = np.frombuffer(os.pread(holder, 4, 0), "<i4")[0]
    replace(array, before + 1)
    check.same("what an open file reads", after_pauses(lambda: os.pread(holder, 4, 0), before + 1), before + 1)
    replace(array, before + 2)
    check.same("what a file that is opened now reads", after_pauses(lambda: stores.read(path), before + 2), before + 2)
    os.close(holder)
    check.end()


def read(path, seconds):
    check, seen, end = stores.Check(), set(), time.monotonic() + seconds
    memory = mmap.mmap(-1, SHAPE[0] * SHAPE[1] * 4)  # page-aligned, as direct I/O wants it
    direct = os.open(path, os.O_RDONLY | os.O_DIRECT)
    turn = 0
    while time.monotonic() < end and check.failed < 5:
        turn += 1
        if turn % 2:
            got = memory[:os.preadv(direct, [memory], 0)]
        else:
            got = stores.read(path)
        values = np.frombuffer(got, "<i4")
        check.same("elements", values.size, SHAPE[0] * SHAPE[1])
        check.that(values.min() == values.max(), "a read %s gave both %d and %d" % (
            "around the page cache" if turn % 2 else "through the page cache", values.min(), values.max()))
        seen.add(int(values[0]))
    print("%d reads, %d versions seen" % (turn, len(seen)))
    check.that(len(seen) > 1, "only one version was ever seen")
    check.end()


if sys.argv[1] == "make":
    make(sys.argv[2])
elif sys.argv[1] == "write":
    write(sys.argv[2], float(sys.argv[3]))
elif sys.argv[1] == "read":
    read(sys.argv[2], float(sys.argv[3]))
elif sys.argv[1] == "idle":
    idle(*sys.argv[2:])
else:
    print(stores.values(*os.path.split(sys.argv[2]))[0, 0])

"""tools.py make STORE WANT: a store for ordinary tools, and below WANT the files that a mount of it must show
tools.py memmap|seek|shared MOUNT WANT: reads them as Python programs do"""

import mmap
import os
import random
import sys

import numpy as np

import stores

VARIABLES = {
    "t2m": ((50, 61, 37), "f4", {"chunks": (7, 20, 37), **stores.SHUFFLED}),
    "big": ((60, 250, 400), "i4", {"chunks": (16, 64, 128), "compressor": stores.LZ4}),
    "ocean/salt": ((12, 90, 45), "f8", {"chunks": (12, 30, 9), "order": "F", "compressor": stores.ZSTD}),
    "ocean/deep/mask": ((101,), "u1", {"chunks": (10,), "compressor": None}),
    "scalar": ((), "f8", {}),
    "empty": ((0, 5), "i2", {"chunks": (1, 5)}),
}


def make(store, want):
    for number, (name, (shape, dtype, how)) in enumerate(VARIABLES.items()):
        values = stores.field(shape, dtype, number)
        stores.put(store, name, values, {"units": "1"}, **how)
        os.makedirs(os.path.dirname(os.path.join(want, name)), exist_ok=True)
        with open(os.path.join(want, name), "wb") as file:
            file.write(stores.flat(values))


def memmap(mount, want, check):
    for name, (shape, dtype, _) in VARIABLES.items():
        if 0 in shape:
            continue
        expected = np.fromfile(os.path.join(want, name), dtype).reshape(shape)
        got = np.memmap(os.path.join(mount, name), dtype, "r", shape=shape)
        check.that(np.array_equal(got, expected), "numpy.memmap of %s" % name)
        if len(shape) == 3:
            check.that(np.array_equal(got[:, 3, 5], expected[:, 3, 5]), "one point of %s at all times" % name)
            check.that(np.array_equal(got[::7, ::-1, 2:9], expected[::7, ::-1, 2:9]), "a slice of %s" % name)


def seek(mount, want, check):
    """A Python program that seeks about in a file it opened once, odd offsets and lengths, some past the end."""
    numbers = random.Random(7)
    for name in VARIABLES:
        with open(os.path.join(mount, name), "rb") as got, open(os.path.join(want, name), "rb") as expected:
            size = os.path.getsize(os.path.join(want, name))
            check.same("size of %s" % name, os.fstat(got.fileno()).st_size, size)
            for _ in range(200):
                at, length = numbers.randrange(size + 20), numbers.choice([1, 3, 4, 1000, 4097, 70001])
                got.seek(at)
                expected.seek(at)
                check.bytes("%d bytes of %s at %d" % (length, name, at), got.read(length), expected.read(length))


def shared(mount, want, check):
    for name in ("t2m", "big", "ocean/salt"):
        path, expected = os.path.join(mount, name), stores.read(os.path.join(want, name))
        with open(path, "rb") as file:
            for kind in (mmap.MAP_SHARED, mmap.MAP_PRIVATE):
                with mmap.mmap(file.fileno(), 0, kind, mmap.PROT_READ) as memory:
                    check.bytes("mmap %d of %s" % (kind, name), memory[:], expected)
            with mmap.mmap(file.fileno(), 0, mmap.MAP_PRIVATE, mmap.PROT_READ | mmap.PROT_WRITE) as memory:
                memory[10:14] = b"mine"
                check.bytes("own pages of %s" % name, memory[:], expected[:10] + b"mine" + expected[14:])
            check.bytes("%s after that" % name, stores.read(path), expected)


if sys.argv[1] == "make":
    make(sys.argv[2], sys.argv[3])
else:
    result = stores.Check()
    {"memmap": memmap, "seek": seek, "shared": shared}[sys.argv[1]](sys.argv[2], sys.argv[3], result)
    result.end()

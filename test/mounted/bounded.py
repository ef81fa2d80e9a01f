"""bounded.py make STORE full|small: eight large variables, each stored differently
bounded.py read FILE N SECONDS: reads variable N at random and in order, half of the time each; odd ones begin at random"""

import os
import random
import sys
import time

import numpy as np

import stores

SHAPES = {"full": (24, 721, 1440), "small": (24, 180, 360)}
LAYOUTS = [
    ((1, 721, 1440), {"compressor": stores.LZ4}),
    ((24, 103, 120), {"compressor": stores.LZ4}),
    ((24, 20, 20), {"compressor": stores.BLOSC}),
    ((6, 721, 1440), {"compressor": stores.BLOSC}),
    ((1, 721, 1440), {"compressor": stores.ZSTD, "order": "F"}),
    ((12, 200, 200), stores.SHUFFLED),
    ((2, 361, 720), {"compressor": None}),
    ((24, 721, 90), {"compressor": stores.ZSTD}),
]


def values(number, shape):
    return stores.field(shape, "<f4") + np.float32(number)


def make(store, size):
    for number, (chunks, how) in enumerate(LAYOUTS):
        stores.put(store, "v%d" % number, values(number, SHAPES[size]), chunks=tuple(map(min, chunks, SHAPES[size])), **how)


def most():
    """Seconds that a read may take: more where other programs leave these few of the processors."""
    return 10 * max(1, os.getloadavg()[0] / (8 * len(os.sched_getaffinity(0))))


def read(path, number, seconds):
    check, longest = stores.Check(), 0
    shape = next(s for s in SHAPES.values() if np.prod(s) * 4 == os.path.getsize(path))
    want = memoryview(stores.flat(values(number, shape)))
    numbers, end = random.Random(number), time.monotonic() + seconds
    file, reads, at = os.open(path, os.O_RDONLY), 0, 0
    while time.monotonic() < end:
        if (end - time.monotonic() > seconds / 2) == (number % 2 == 0):
            length = 1 << 20
            at = at if at < len(want) else 0
        else:
            length = numbers.choice([4, 4096, 100000, 1 << 20])
            at = numbers.randrange(len(want))
        before = time.monotonic()
        got = os.pread(file, length, at)
        longest = max(longest, time.monotonic() - before)
        if got != want[at:at + length]:
            check.bytes("%s at %d" % (path, at), got, bytes(want[at:at + length]))
            break
        at += len(got)
        reads += 1
    print("v%d: %d reads, the longest took %.2f s" % (number, reads, longest))
    check.that(longest < most(), "a read of v%d took %.1f s" % (number, longest))
    check.end()


if sys.argv[1] == "make":
    make(sys.argv[2], sys.argv[3])
else:
    read(sys.argv[2], int(sys.argv[3]), float(sys.argv[4]))

"""shards_bounded.py make FOLDER: `million`, one shard of a million chunks of 4 × 4 numbers, which lie in no order; `single`, one of a million numbers,
each of which is a chunk; `many`, 100,000 shards of 16 chunks of 4.
shards_bounded.py some FILE SEED SECONDS: numbers of it at random; shards_bounded.py all FILE: everything, in order"""

import json
import os
import sys
import time

import numpy as np

import stores
from zarr3 import LITTLE, array, group, sharding

GRID, SIDE = 1000, 4  # of million
SHARDS, IN_SHARD, NUMBERS, KINDS = 100000, 16, 4, 250  # of many, of which KINDS differ
PLAIN = {"codecs": [LITTLE], "sums": 0}  # a checksum in Python takes long


def save(path, content):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "wb") as file:
        file.write(content)


def places(n, size):
    """The index of n chunks, one behind the other."""
    return np.stack([size * np.arange(n, dtype="<u8"), np.full(n, size, "<u8")], axis=1)


def make(folder):
    save(folder + "/zarr.json", json.dumps(group()).encode())
    side = GRID * SIDE
    save(folder + "/million/zarr.json", json.dumps(array([side, side], [side, side], "int32", codecs=[sharding([SIDE, SIDE], **PLAIN)])).encode())
    chunks = np.arange(side * side, dtype="<i4").reshape(GRID, SIDE, GRID, SIDE).transpose(0, 2, 1, 3).reshape(-1, SIDE * SIDE)
    order = np.random.default_rng(1).permutation(len(chunks))
    index = np.empty((len(chunks), 2), "<u8")
    index[order] = places(len(chunks), 4 * SIDE * SIDE)
    save(folder + "/million/c/0/0", chunks[order].tobytes() + index.tobytes())

    numbers = GRID * GRID
    save(folder + "/single/zarr.json", json.dumps(array([numbers], [numbers], "int32", codecs=[sharding([1], **PLAIN)])).encode())
    save(folder + "/single/c/0", np.arange(numbers, dtype="<i4").tobytes() + places(numbers, 4).tobytes())

    size = IN_SHARD * NUMBERS
    save(folder + "/many/zarr.json", json.dumps(array([SHARDS * size], [size], "int32", codecs=[sharding([NUMBERS], **PLAIN)])).encode())
    index = places(IN_SHARD, 4 * NUMBERS)
    for i in range(SHARDS):
        path = folder + "/many/c/%d" % i
        if i < KINDS:
            save(path, np.arange(i * size, (i + 1) * size, dtype="<i4").tobytes() + index.tobytes())
        else:
            os.link(folder + "/many/c/%d" % (i % KINDS), path)


def want(path, first, n):
    numbers = np.arange(first, first + n)
    return (numbers % (KINDS * IN_SHARD * NUMBERS) if path.endswith("many") else numbers).astype("<i4").tobytes()


def some(path, seed, seconds):
    check, rng = stores.Check(), np.random.default_rng(int(seed))
    end, turns, size = time.monotonic() + float(seconds), 0, os.path.getsize(path) // 4
    with open(path, "rb", buffering=0) as file:
        while time.monotonic() < end and not check.failed:
            first, n = int(rng.integers(0, size - 5000)), int(rng.choice([1, 30, 5000]))
            check.bytes("%d numbers at %d" % (n, first), os.pread(file.fileno(), 4 * n, 4 * first), want(path, first, n))
            turns += 1
    print("%s: %d reads" % (path.rsplit("/", 1)[1], turns))
    check.end()


def everything(path):
    check, first = stores.Check(), 0
    with open(path, "rb") as file:
        while piece := file.read(1 << 20):
            check.bytes("numbers from %d on" % first, piece, want(path, first, len(piece) // 4))
            first += len(piece) // 4
    check.same("size", 4 * first, os.path.getsize(path))
    check.end()


{"make": make, "some": some, "all": everything}[sys.argv[1]](*sys.argv[2:])

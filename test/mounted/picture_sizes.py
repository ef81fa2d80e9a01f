"""picture_sizes.py make STORE SEED: variables of one to five dimensions, 1 x 1 to 10^6 x 10^6, of which few chunks are there.
picture_sizes.py check MNT SEED: their pictures have the size that stat says, Pillow reads them, and those that show each element are
what NumPy draws of the flat file. picture_sizes.py same STORE N: N variables for pictures that are asked for at once."""

import json
import os
import sys

import numpy as np
import zarr
from PIL import Image

from picture import MOST, check_map, decode
from stores import Check

TYPES = "u1", "<i2", ">u4", "<f4", ">f8", "<i8", "<c8", "|b1"
SIDES = [(1, 1), (1, 10 ** 6), (10 ** 6, 1), (10 ** 6, 10 ** 6), (1, 2), (63, 64), (255, 257), (1024, 1024), (1025, 1023), (2, 3000), (999983, 7)]
CHUNKS_MADE = 3
CHUNKS_MOST = 256  # of which a picture is made, above a local store
FLAT_MOST = 2 << 20  # elements of a flat file that is read whole


def variables(seed):
    """name, shape, chunks, type, and a generator of its own"""
    draw = np.random.default_rng(seed)

    def length(most):
        return int(round(float(most) ** draw.random()))

    sides = SIDES + [(length(10 ** 6), length(10 ** 6)) for _ in range(14)] + [(length(900), length(900)) for _ in range(10)]
    for i, last in enumerate(sides + [(length(10 ** 6),) for _ in range(4)] + [(1,), (2,), (10 ** 6,)]):
        leading = tuple(length(20) for _ in range(draw.integers(0, 4))) if len(last) == 2 else ()
        if last[-1] in (3, 4) and leading:
            last = last[0], 5  # bytes of that would be a photo
        shape = leading + last
        chunks = tuple(min(1 + int(draw.integers(0, 3)), n) for n in leading) + tuple(min(n, int(draw.integers(1, 300)) if n < 5000 else 200) for n in last)
        yield "v%d" % i, shape, chunks, TYPES[i % len(TYPES)], np.random.default_rng([seed, i])


def values_of(shape, kind, draw):
    return np.ones(shape, "b1") if kind == "|b1" else draw.integers(1, 120, shape).astype(kind)


def make(store, seed):
    root = zarr.open_group(zarr.DirectoryStore(store), "w")
    for name, shape, chunks, kind, draw in variables(int(seed)):
        array = root.create_dataset(name, shape=shape, chunks=chunks, dtype=kind, compressor=None, fill_value=None)
        grid = [range(-(-n // c)) for n, c in zip(shape, chunks)]
        for _ in range(CHUNKS_MADE):
            at = [int(draw.integers(0, min(len(g), 4))) for g in grid]
            part = [(i * c, min((i + 1) * c, n)) for i, c, n in zip(at, chunks, shape)]
            array[tuple(slice(*p) for p in part)] = values_of([end - start for start, end in part], kind, draw)
    zarr.consolidate_metadata(zarr.DirectoryStore(store))


def window_of(values):
    """The numbers that colours begin and end with."""
    low, high = np.percentile(values, [2, 98])
    if low == high:
        low, high = values.min(), values.max()
    if low == high:
        low, high = (low * 0.99, low * 1.01) if low else (-0.01, 0.01)
    return low, high


def check_pixels(check, path, mnt, name, shape, kind, index, data):
    flat = np.fromfile(mnt + "/" + name, np.dtype(kind).newbyteorder("=")).reshape(shape)
    plane = flat[tuple(index) + (0,) * (flat.ndim - 2 - len(index))]
    numbers = np.abs(plane) if kind == "<c8" else plane.astype("f8")
    palette, pixels = decode(data)
    low, high = window_of(numbers)
    check_map(check, path, np.ascontiguousarray(plane), {"north": False, "modulus": kind == "<c8"}, pixels, palette, (low, high))


def shows_each(shape, chunks):
    """Neither pixels nor chunks are too many for that."""
    if len(shape) < 2 or max(shape[-2:]) > MOST or np.prod(shape, dtype=float) > FLAT_MOST:
        return False
    return -(-shape[-2] // chunks[-2]) * -(-shape[-1] // chunks[-1]) <= CHUNKS_MOST


def check_picture(check, mnt, name, shape, chunks, kind, index):
    path = "%s/%s%s.png" % (mnt, name, "".join(".%d" % i for i in index))
    size = os.stat(path).st_size
    with open(path, "rb") as file:
        data = file.read()
    check.that(len(data) == size, "%s of %s has %d bytes, not %d" % (path, shape, len(data), size))
    with Image.open(path) as image:
        image.load()
        check.that(256 <= max(image.size) and min(image.size) >= 64 and image.size[0] <= MOST, "%s of %s has %s pixels" % (path, shape, image.size))
    whole = shows_each(shape, chunks)
    if whole:
        check_pixels(check, path, mnt, name, shape, kind, index, data)
    return whole


def check_all(mnt, seed):
    check = Check()
    compared = 0
    for name, shape, chunks, kind, draw in variables(int(seed)):
        leading = shape[:-2]
        index = [int(draw.integers(0, n)) for n in leading[:draw.integers(0, len(leading) + 1)]]
        compared += check_picture(check, mnt, name, shape, chunks, kind, index)
        check.that(not os.path.exists("%s/%s.%s.png" % (mnt, name, ".".join(str(n) for n in leading) or "0")), name + " has a picture out of its range")
    print("pictures compared with NumPy's:", compared)
    check.that(compared >= 8, "only %d pictures could be compared" % compared)
    check.end()


def same(store, count):
    """Metadata alone: each is full of its own number."""
    entries = {".zgroup": {"zarr_format": 2}}
    for i in range(int(count)):
        entries["v%d/.zarray" % i] = {"zarr_format": 2, "shape": [1, 240, 320], "chunks": [1, 120, 160], "dtype": "<f4", "compressor": None,
                                      "fill_value": i, "filters": None, "order": "C"}
    for key, value in list(entries.items()) + [(".zmetadata", {"zarr_consolidated_format": 1, "metadata": entries})]:
        os.makedirs(os.path.dirname(store + "/" + key), exist_ok=True)
        with open(store + "/" + key, "w", encoding="utf8") as file:
            json.dump(value, file)


if __name__ == "__main__":
    {"make": make, "check": check_all, "same": same}[sys.argv[1]](*sys.argv[2:])

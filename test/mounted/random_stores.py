"""random_stores.py make FOLDER SEED COUNT: stores of random arrays. random_stores.py check FOLDER MOUNT OPTIONS: a mount of FOLDER
shows what zarr-python reads there."""

import os
import random
import sys
import warnings

import numcodecs
import numpy as np
import zarr

import stores

warnings.simplefilter("ignore")
NUMBERS = [order + kind for order in "<>" for kind in "i2 i4 i8 u2 u4 u8 f2 f4 f8 c8 c16".split()] + ["i1", "u1"]
OTHERS = "b1 S1 S7 <U1 <U5 >U3 V3 V16 <M8[ns] >M8[D] <m8[s] >m8[10us]".split()
FIELDS = [np.dtype([("a", "<i2"), ("b", ">f8"), ("c", "S3")]), np.dtype([("x", "u1"), ("y", [("p", ">i4"), ("q", "<U2")]), ("z", "<f4", (2, 3))])]
TEXT = "object"


def some_dtype(r):
    pick = r.random()
    return np.dtype(r.choice(NUMBERS)) if pick < 0.6 else np.dtype(r.choice(OTHERS)) if pick < 0.85 else r.choice(FIELDS) if pick < 0.93 else TEXT


def some_shape(r):
    rank = r.choice([0, 1, 1, 2, 2, 2, 3, 3, 4, 5, 6])
    longest = {0: 1, 1: 5000, 2: 90, 3: 25, 4: 9}.get(rank, 5)
    shape = [r.choice([1, r.randint(1, longest), r.randint(1, longest), longest]) for _ in range(rank)]
    if rank and r.random() < 0.03:
        shape[r.randrange(rank)] = 0
    chunks = [r.choice([1, max(n, 1), n + r.randint(1, 5), r.randint(1, max(n, 1)), r.randint(max(n // 3, 1), max(n, 1))]) for n in shape]
    while np.prod([-(-n // c) for n, c in zip(shape, chunks)]) > 400:
        chunks = [min(c * 2, max(n, 1)) for n, c in zip(shape, chunks)]
    return tuple(shape), tuple(chunks)


def some_compressor(r):
    names = "blosclz lz4 lz4hc snappy zlib zstd".split()
    return r.choice([None, numcodecs.Zlib(r.randint(0, 9)), numcodecs.GZip(r.randint(1, 9)), numcodecs.BZ2(r.randint(1, 9)), numcodecs.LZMA(preset=r.randint(0, 2)),
                     numcodecs.LZ4(r.randint(1, 5)), numcodecs.Zstd(r.randint(1, 9))]
                    + [numcodecs.Blosc(r.choice(names), r.randint(0, 9), r.randint(-1, 2), r.choice([0, 0, 64, 256, 4096])) for _ in range(8)])


def some_filters(r, dtype):
    if dtype is TEXT:
        return None
    kind, size, filters = dtype.kind, dtype.itemsize, []
    if kind in "iu" and r.random() < 0.4:
        filters.append(numcodecs.Delta(dtype.str))
    elif kind == "f" and size > 2 and r.random() < 0.4:
        filters.append(r.choice([numcodecs.Quantize(r.randint(1, 5), dtype.str), numcodecs.FixedScaleOffset(r.randint(-5, 5), 10 ** r.randint(0, 3), dtype.str, "<i4"),
                                 numcodecs.AsType("<f8", dtype.str)]))
    elif dtype == "<c16" and r.random() < 0.4:
        filters.append(numcodecs.AsType("<c8", "<c16"))
    elif kind == "b" and r.random() < 0.4:
        return [numcodecs.PackBits()]
    if r.random() < 0.25 and not filters and kind in "iufcSV" and dtype.names is None:
        filters.append(numcodecs.Shuffle(size))
    if r.random() < 0.2:
        filters.append(r.choice([numcodecs.CRC32(), numcodecs.Adler32(), numcodecs.Zlib(1)]))
    return filters or None


def some_values(r, dtype, shape):
    rng, count = np.random.default_rng(r.getrandbits(32)), int(np.prod(shape))
    if dtype is TEXT:
        values = np.empty(count, object)
        values[:] = ["".join(r.choice("aäß€😀 z") for _ in range(r.randint(0, 9))) for _ in range(count)]
        return values.reshape(shape)
    values = np.zeros(count, dtype)
    if dtype.names:
        for name in dtype.names:
            values[name] = some_values(r, dtype[name].base, (count,) + dtype[name].shape)
    elif dtype.kind in "iu":
        low, high = r.choice([(0, 100), (np.iinfo(dtype).min, np.iinfo(dtype).max)])
        values[:] = rng.integers(low, high, count, dtype=dtype.newbyteorder("="), endpoint=True)
    elif dtype.kind == "f":
        values[:] = np.round(rng.standard_normal(count) * 100, r.randint(0, 6))
    elif dtype.kind == "c":
        values[:] = rng.standard_normal(count) + 1j * rng.standard_normal(count)
    elif dtype.kind == "b":
        values[:] = rng.integers(0, 2, count)
    elif dtype.kind in "Mm":
        values = rng.integers(-10 ** 9, 10 ** 9, count).astype("i8").astype(dtype)
    elif dtype.kind == "S":
        values[:] = [bytes(r.randint(33, 126) for _ in range(r.randint(0, dtype.itemsize))) for _ in range(count)]
    elif dtype.kind == "U":
        values[:] = ["".join(r.choice("aäß€😀z") for _ in range(r.randint(0, dtype.itemsize // 4))) for _ in range(count)]
    else:
        values = np.frombuffer(rng.bytes(count * dtype.itemsize), dtype)
    return values.reshape(shape)


def some_fill(r, dtype):
    if dtype is TEXT:
        return r.choice(["", "none"])
    one = some_values(r, dtype, (1,))[0]
    if dtype.kind == "f":
        return r.choice([0, np.nan, np.inf, -np.inf, -0.0, one])
    return 0 if dtype.kind == "V" else one if dtype.kind in "SU" else r.choice([0, one, one])


def write(r, store, path):
    dtype, (shape, chunks) = some_dtype(r), some_shape(r)
    how = {"compressor": some_compressor(r), "filters": some_filters(r, dtype), "order": r.choice("CF"), "dimension_separator": r.choice("../"), "fill_value": some_fill(r, dtype)}
    if dtype is TEXT:
        how["object_codec"] = numcodecs.VLenUTF8()
    array = zarr.create(shape, chunks, object if dtype is TEXT else dtype, store=store, path=path, overwrite=True, **how)
    values = some_values(r, dtype, shape)
    if r.random() < 0.6 or not shape:
        if shape or r.random() < 0.7:
            array[...] = values if shape else values[()]
        return
    for _ in range(r.randint(0, 3)):  # parts of it, and perhaps nothing
        part = tuple(slice(*sorted((r.randint(0, n), r.randint(0, n)))) for n in shape)
        if values[part].size:
            array[part] = values[part]


def make(folder, seed, count):
    r = random.Random(int(seed))
    for i in range(int(count)):
        name = r.choice(["plain.zarr", "consolidated.zarr", "single%d.zarr" % i])
        store = zarr.DirectoryStore(os.path.join(folder, name))
        if name.startswith("single"):
            write(r, store, "")
            continue
        zarr.open_group(store, "a")
        write(r, store, r.choice(["", "g/", "g/h/", "a b/ü/"]) + "v%d" % i)
    zarr.consolidate_metadata(zarr.DirectoryStore(os.path.join(folder, "consolidated.zarr")))


def arrays(folder):
    """(path below folder, array) of everything that zarr-python wrote there."""
    for path, _, files in sorted(os.walk(folder)):
        if ".zarray" in files:
            yield os.path.relpath(path, folder), zarr.open_array(zarr.DirectoryStore(path), "r")


def texts(values, width):
    return b"".join((text or "").encode().ljust(width, b"\0") for text in np.atleast_1d(np.asarray(values, object)).ravel())


def pieces(at, r, path, got):
    """Reads at random offsets, of parts of elements too, give what reading all gave."""
    file = os.open(path, os.O_RDONLY | os.O_DIRECT)  # not from the pages that the kernel has
    for _ in range(8 if got else 0):
        off = r.randrange(len(got))
        n = r.choice([1, 2, 7, 100, 4096, len(got)])
        at.bytes("%s from %d" % (path, off), os.pread(file, n, off), got[off:off + n])
    os.close(file)


def check(folder, mount, options):
    order = {"endian=little": "<", "endian=big": ">"}.get(options.split(",")[0])
    at, r, count, size = stores.Check(), random.Random(1), 0, 0
    for name, array in arrays(folder):
        path, what = os.path.join(mount, name), "%s (%s %s/%s %s %s)" % (name, array.dtype, array.shape, array.chunks, array.order, array.filters)
        values = np.asarray(array[...], array.dtype)
        try:
            got = stores.read(path)
        except OSError as error:
            at.that(False, "%s: %s %s" % (what, error, os.getxattr(path, "user.zarrfs.error")))
            continue
        if array.dtype == object:
            want = texts(values, len(got) // values.size if values.size else 1)
        else:
            want = stores.flat(values, order) if order else np.ascontiguousarray(values).tobytes()
        if at.bytes(what, got, want):
            pieces(at, r, path, got)
        at.same("size of " + what, os.stat(path).st_size, len(want))
        count, size = count + 1, size + len(got)
    print("%d arrays, %d bytes, %s" % (count, size, options))
    at.that(count > 10, "only %d arrays" % count)
    at.end()


if sys.argv[1] == "make":
    make(*sys.argv[2:])
else:
    check(*sys.argv[2:])

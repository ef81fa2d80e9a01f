"""Stores for the mounted tests, and what their flat files must hold. With STORES_FORM, v3 or shards, they are of Zarr V3 (see as_v3.py)."""

import os
import shutil
import sys
import tempfile

import numcodecs
import numpy as np
import zarr

ZLIB = numcodecs.Zlib(1)
ZSTD = numcodecs.Zstd(1)
LZ4 = numcodecs.LZ4()
BLOSC = numcodecs.Blosc("lz4", 5, numcodecs.Blosc.SHUFFLE)
SHUFFLED = {"compressor": ZLIB, "filters": [numcodecs.Shuffle(4)]}


def field(shape, dtype="f4", seed=1):
    """Values that compress somewhat, no two planes alike."""
    size = int(np.prod(shape, dtype=np.int64))
    noise = np.random.default_rng(seed).integers(0, 16, size)
    values = np.arange(size) % 100003 * 16 + noise
    return values.astype(dtype).reshape(shape)


def flat(values, order="="):
    """The bytes of a variable's flat file, in the machine's byte order unless said otherwise."""
    return np.ascontiguousarray(values).astype(values.dtype.newbyteorder(order)).tobytes()


FORM = os.environ.get("STORES_FORM", "v2")


def put(store, path, values, attrs=None, **how):
    """An array at path of a directory store."""
    if FORM != "v2":
        return put_v3(store, path, values, attrs, how)
    return put_v2(store, path, values, attrs, **how)


def group(store, attrs, path=""):
    """A new one, of a directory store."""
    if FORM == "v2":
        zarr.open_group(zarr.DirectoryStore(store), "w", path=path).attrs.update(attrs)
    else:
        import as_v3
        import zarr3
        as_v3.save(os.path.join(store, path, "zarr.json"), zarr3.group(attrs))


def put_v3(store, path, values, attrs, how):
    import as_v3
    with tempfile.TemporaryDirectory() as folder:
        put_v2(folder, path, values, attrs, **how)
        as_v3.put_groups(store, path)
        shutil.rmtree(os.path.join(store, path, "c"), ignore_errors=True)
        as_v3.copy_array(os.path.join(folder, path), os.path.join(store, path), os.path.basename(path), FORM == "shards")


def values(store, path):
    """What is stored, read by another than zarrfs."""
    if FORM != "v2":
        import as_v3
        return as_v3.values_in(store, path)
    return zarr.open_group(zarr.DirectoryStore(store), "r")[path][...]


def consolidate(store):
    if FORM != "v2":
        import as_v3
        return as_v3.consolidate(store)
    return zarr.consolidate_metadata(zarr.DirectoryStore(store))


def scatter(store):
    """Consolidated metadata are taken out of it."""
    if FORM == "v2":
        return os.unlink(os.path.join(store, ".zmetadata"))
    import as_v3
    document = as_v3.load(os.path.join(store, "zarr.json"))
    del document["consolidated_metadata"]
    return as_v3.save(os.path.join(store, "zarr.json"), document)


def encoded(array, values):
    """What a chunk of a V2 array is stored as."""
    for codec in array.filters or []:
        values = codec.encode(values)
    return bytes(array.compressor.encode(values) if array.compressor else np.ascontiguousarray(values).tobytes())


def put_chunks(path, chunks):
    """Chunks of an array are stored, each object anew by rename; chunks: indices to encoded bytes, of V3 all that are in the same shards."""
    if FORM != "v2":
        import as_v3
        return as_v3.put_chunks(path, as_v3.load(os.path.join(path, "zarr.json")), chunks)
    for at, content in chunks.items():
        name, _ = object_of(path, at)
        with open(name + ".new", "wb") as file:
            file.write(content)
        os.rename(name + ".new", name)


def object_of(path, at):
    """The file that holds a chunk of an array, and where its bytes begin in that."""
    if FORM == "v2":
        return os.path.join(path, ".".join(map(str, at))), 0
    import as_v3
    document = as_v3.load(os.path.join(path, "zarr.json"))
    name = os.path.join(path, as_v3.key_of(document, at))
    return name, as_v3.place_of(document, read(name), at)


def put_v2(store, path, values, attrs, **how):
    array = zarr.open_array(zarr.DirectoryStore(store), "w", path=path, shape=values.shape, dtype=how.pop("dtype", values.dtype), **how)
    array[...] = values
    if attrs:
        array.attrs.update(attrs)
    return array


def coordinates(store, group, steps, first, plane):
    """time, from the hour `first` on, lat and lon, as CF has them."""
    for name, values, attrs in (
            ("time", first + np.arange(float(steps)), {"units": "hours since 2000-01-01", "calendar": "standard", "standard_name": "time", "axis": "T"}),
            ("lat", np.linspace(90, -90, plane[0]), {"units": "degrees_north", "standard_name": "latitude"}),
            ("lon", np.arange(plane[1]) * 360.0 / plane[1], {"units": "degrees_east", "standard_name": "longitude"})):
        put(store, group + name, values, {"_ARRAY_DIMENSIONS": [name], **attrs}, chunks=min(values.size, 200000), compressor=ZLIB, fill_value=None)


def read(path):
    with open(path, "rb") as file:
        return file.read()


class Check:
    """Counts what does not hold and says it; the process ends with that."""

    def __init__(self):
        self.failed = 0

    def that(self, good, what):
        if not good:
            self.failed += 1
            print("FAILED: %s" % what, file=sys.stderr)
        return good

    def same(self, what, got, want):
        return self.that(got == want, "%s is %r, not %r" % (what, got, want))

    def bytes(self, what, got, want):
        """Two byte strings, without printing megabytes."""
        if got == want:
            return True
        at = next((i for i, (a, b) in enumerate(zip(got, want)) if a != b), min(len(got), len(want)))
        return self.that(False, "%s: %d bytes, not %d; from byte %d on %r instead of %r" % (
            what, len(got), len(want), at, got[at:at + 16], want[at:at + 16]))

    def error(self, what, number, call, *arguments):
        """The call must fail with this errno."""
        try:
            call(*arguments)
        except OSError as error:
            return self.that(error.errno == number, "%s fails with %s instead of %s" % (what, error, os.strerror(number)))
        return self.that(False, "%s succeeds instead of failing with %s" % (what, os.strerror(number)))

    def end(self):
        sys.exit(1 if self.failed else 0)

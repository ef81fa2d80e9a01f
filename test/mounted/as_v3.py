"""as_v3.py FROM TO v3|shards: a copy of a store of Zarr V2, its chunks as they are stored, with documents of Zarr V3; `shards`: two chunks along each dimension
lie in a shard, whose index is at the start where the array's name has an odd number of letters.
In other tests: put(folder, path, ...) of one array, values(read, path) of what is stored, and what a chunk's object is called (see stores.py)."""

import base64
import itertools
import json
import os
import sys

import numcodecs
import numpy as np

import zarr3

ARRAY_FILTERS = ("delta", "fixedscaleoffset", "quantize", "bitround", "astype", "packbits")
SHUFFLES = {-1: "noshuffle", 0: "noshuffle", 1: "shuffle", 2: "bitshuffle"}
UNITS = {"M": "numpy.datetime64", "m": "numpy.timedelta64"}
TYPES = {"b": "bool", "i": "int%d", "u": "uint%d", "f": "float%d", "c": "complex%d"}
LENGTHS = {"S": "null_terminated_bytes", "U": "fixed_length_utf32", "V": "raw_bytes"}


def load(path):
    try:
        with open(path, encoding="utf8") as file:
            return json.load(file)
    except FileNotFoundError:
        return None


def save(path, document):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path + ".new", "w", encoding="utf8") as file:
        json.dump(document, file)
    os.rename(path + ".new", path)


def put_object(path, content):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path + ".new", "wb") as file:
        file.write(content)
    os.rename(path + ".new", path)


# --- documents ---

def type_of(dtype):
    """None: V3 has no such type, fields that are arrays for one."""
    if dtype == "|O":
        return "string"
    if isinstance(dtype, list):
        fields = [(field[0], len(field) == 2 and type_of(field[1])) for field in dtype]
        if not all(t for _, t in fields):
            return None
        return {"name": "struct", "configuration": {"fields": [{"name": n, "data_type": t} for n, t in fields]}}
    t = np.dtype(dtype)
    if t.kind in UNITS:
        unit, factor = np.datetime_data(t)
        return {"name": UNITS[t.kind], "configuration": {"unit": unit, "scale_factor": factor}}
    if t.kind in LENGTHS:
        return {"name": LENGTHS[t.kind], "configuration": {"length_bytes": t.itemsize}}
    return TYPES[t.kind] if t.kind == "b" else TYPES[t.kind] % (8 * t.itemsize)


def as_numpy(dtype):
    """A V2 dtype for numpy."""
    return np.dtype([(f[0], as_numpy(f[1]), *map(tuple_of, f[2:])) for f in dtype] if isinstance(dtype, list) else dtype)


def tuple_of(shape):
    return tuple(shape) if isinstance(shape, list) else shape


def fill_of(fill, dtype):
    if dtype == "|O":
        return fill or ""
    if isinstance(dtype, list):
        assert not fill
        return {name: fill_of(None, field) for name, field in dtype}
    kind = np.dtype(dtype).kind
    if kind in "SV":
        return fill or ""
    if fill is None:
        return {"U": "", "b": False, "f": 0.0, "c": [0.0, 0.0]}.get(kind, 0)
    return bool(fill) if kind == "b" else fill


def text_of_bits(x, dtype):
    """A value as xarray writes it into `_FillValue`."""
    if np.dtype(dtype).kind == "f":
        return base64.standard_b64encode(np.array(x, "<f8").tobytes()).decode()
    return x


def endian(dtype):
    names = {"<": "little", ">": "big"}
    if isinstance(dtype, list):
        return {"name": "bytes", "configuration": {"endian": next((endian(f[1])["configuration"]["endian"] for f in dtype if "configuration" in endian(f[1])), "little")}}
    return {"name": "bytes", **({"configuration": {"endian": names[dtype[0]]}} if dtype[0] in names and np.dtype(dtype).kind not in "SV" else {})}


def bytes_codec(config, itemsize):
    config = dict(config)
    name = config.pop("id")
    if name == "gzip":
        return {"name": "gzip", "configuration": {"level": config["level"]}}
    if name == "zstd":
        return {"name": "zstd", "configuration": {"level": config["level"], "checksum": False}}
    if name == "blosc":
        return {"name": "blosc", "configuration": {**config, "shuffle": SHUFFLES[config["shuffle"]], "typesize": itemsize}}
    return {"name": "numcodecs." + name, "configuration": config}


def codecs_of(meta):
    """Those of a V2 array in order, or None."""
    dtype, filters = meta["dtype"], meta["filters"] or []
    size = 1 if dtype == "|O" else as_numpy(dtype).itemsize
    chain = []
    if meta["order"] == "F" and len(meta["shape"]) > 1:
        chain.append({"name": "transpose", "configuration": {"order": list(range(len(meta["shape"])))[::-1]}})
    stored, middle, rest = dtype, None, []
    for config in filters:
        if config["id"] in ARRAY_FILTERS and not rest and not middle:
            chain.append({"name": "numcodecs." + config["id"], "configuration": {k: v for k, v in config.items() if k != "id"}})
            stored = config.get("astype") or config.get("encode_dtype") or stored
        elif config["id"] == "vlen-utf8":
            middle = {"name": "vlen-utf8"}
        else:
            rest.append(bytes_codec(config, size))
    if dtype == "|O" and not middle:
        return None
    if meta["compressor"]:
        rest.append(bytes_codec(meta["compressor"], size))
    return chain + [middle or endian(stored)] + rest


def with_shards(document, name):
    """The document of the same array with its chunks in shards, if it has chunks."""
    inner = document["chunk_grid"]["configuration"]["chunk_shape"]
    if not inner or 0 in document["shape"]:
        return document
    outer = [n * min(2, -(-s // n)) for s, n in zip(document["shape"], inner)]
    codecs = document["codecs"]
    return {**document, "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": outer}},
            "codecs": [zarr3.sharding(list(inner), codecs, start=len(name) % 2 == 1)]}


def document_of(meta, attributes, name, shards):
    """zarr.json of what has these .zarray and .zattrs, or None."""
    attributes = dict(attributes)
    dims = attributes.pop("_ARRAY_DIMENSIONS", None)
    kind = type_of(meta["dtype"])
    codecs = kind and codecs_of(meta)
    if not codecs:
        return None
    if "_FillValue" in attributes:
        attributes["_FillValue"] = text_of_bits(attributes["_FillValue"], meta["dtype"] if isinstance(meta["dtype"], str) else "V1")
    document = zarr3.array(meta["shape"], meta["chunks"], kind, fill_of(meta["fill_value"], meta["dtype"]), codecs, dims, attributes=attributes)
    return with_shards(document, name) if shards else document


# --- objects ---

def sharding_of(document):
    return document["codecs"][0]["configuration"] if document["codecs"][0]["name"] == "sharding_indexed" else None


def key_of(document, at):
    """The object that holds the chunk, or inner chunk, with these indices."""
    how = sharding_of(document)
    if how:
        outer = document["chunk_grid"]["configuration"]["chunk_shape"]
        at = [i * n // m for i, n, m in zip(at, how["chunk_shape"], outer)]
    return "/".join(["c"] + [str(i) for i in at])


def place_of(document, content, at):
    """Where the bytes of a chunk begin in its object."""
    how = sharding_of(document)
    if not how:
        return 0
    each = [m // n for m, n in zip(document["chunk_grid"]["configuration"]["chunk_shape"], how["chunk_shape"])]
    entry = 16 * int(np.ravel_multi_index([i % n for i, n in zip(at, each)], each))
    index = 16 * int(np.prod(each)) + 4
    return int(np.frombuffer(content, "<u8", 1, entry + (0 if how["index_location"] == "start" else len(content) - index))[0])


def put_chunks(folder, document, stored):
    """stored: indices to bytes, of all that there are; each object is put whole, by rename."""
    how, objects = sharding_of(document), {}
    for at, content in stored.items():
        objects.setdefault(key_of(document, at), {})[tuple(at)] = content
    for key, parts in objects.items():
        if not how:
            (content,) = parts.values()
        else:
            outer = document["chunk_grid"]["configuration"]["chunk_shape"]
            each = [m // n for m, n in zip(outer, how["chunk_shape"])]
            first = [int(i) * n for i, n in zip(key.split("/")[1:], each)]
            here = itertools.product(*[range(f, f + n) for f, n in zip(first, each)])
            content = zarr3.shard([parts.get(at) for at in here], start=how["index_location"] == "start")
        put_object(os.path.join(folder, key), content)


def copy_array(source, target, name, shards):
    """Whether V3 can have it."""
    meta = load(os.path.join(source, ".zarray"))
    document = document_of(meta, load(os.path.join(source, ".zattrs")) or {}, name, shards)
    if not document:
        return False
    separator = meta.get("dimension_separator", ".")
    v2 = [path for path in (os.path.relpath(os.path.join(folder, file), source) for folder, _, files in os.walk(source) for file in files) if not path.startswith(".z")]
    stored = {}
    for path in v2:
        with open(os.path.join(source, path), "rb") as file:
            stored[tuple(int(i) for i in path.split(separator)) if document["shape"] else ()] = file.read()
    put_chunks(target, document, stored)
    save(os.path.join(target, "zarr.json"), document)
    return True


def copy_store(source, target, shards):
    for folder, folders, files in os.walk(source):
        path = os.path.relpath(folder, source)
        to = os.path.normpath(os.path.join(target, path))
        if ".zarray" in files:
            folders.clear()
            if not copy_array(folder, to, os.path.basename(to), shards):
                print("left out: %s" % path)
        else:
            save(os.path.join(to, "zarr.json"), zarr3.group(load(os.path.join(folder, ".zattrs"))))
    if os.path.exists(os.path.join(source, ".zmetadata")):
        consolidate(target)


def consolidate(store):
    found = {}
    for folder, folders, files in os.walk(store):
        if "zarr.json" in files and folder != store:
            found[os.path.relpath(folder, store)] = load(os.path.join(folder, "zarr.json"))
            if found[os.path.relpath(folder, store)]["node_type"] == "array":
                folders.clear()
    root = load(os.path.join(store, "zarr.json"))
    save(os.path.join(store, "zarr.json"), {**root, "consolidated_metadata": {"kind": "inline", "must_understand": False, "metadata": found}})


def put_groups(store, path):
    """Those above an array, where there are none."""
    parts = path.split("/")[:-1]
    for n in range(len(parts) + 1):
        name = os.path.join(store, *parts[:n], "zarr.json")
        if not os.path.exists(name):
            save(name, zarr3.group())


# --- what is stored ---

def unpacked(codecs, stored, shape, dtype, fill):
    """The values of stored bytes."""
    codecs, turned = list(codecs), None
    while codecs[-1]["name"] not in ("bytes", "sharding_indexed"):
        codec = codecs.pop()
        if codec["name"] == "crc32c":
            assert zarr3.crc32c(stored[:-4]).to_bytes(4, "little") == stored[-4:], "a checksum does not fit"
            stored = stored[:-4]
        else:
            name = codec["name"].removeprefix("numcodecs.")
            config = codec.get("configuration", {}) if name != codec["name"] else {}
            stored = bytes(numcodecs.get_codec({"id": name, **config}).decode(stored))
    if codecs[0]["name"] == "transpose":
        turned = codecs.pop(0)["configuration"]["order"]
    how = codecs[0].get("configuration", {})
    if codecs[0]["name"] == "bytes":
        a = np.frombuffer(stored, np.dtype(dtype).newbyteorder(">" if how.get("endian") == "big" else "<"))
        return a.reshape([shape[i] for i in turned]).transpose(np.argsort(turned)) if turned else a.reshape(shape)
    inner, grid = how["chunk_shape"], [n // m for n, m in zip(shape, how["chunk_shape"])]
    index = 16 * int(np.prod(grid))
    part = stored[:index + 4] if how["index_location"] == "start" else stored[-index - 4:]
    assert zarr3.crc32c(part[:-4]).to_bytes(4, "little") == part[-4:], "an index's checksum does not fit"
    big = how["index_codecs"][0]["configuration"]["endian"] == "big"
    places = np.frombuffer(part[:-4], ">u8" if big else "<u8").reshape(-1, 2)
    a = np.full(shape, fill, dtype)
    for at, (off, n) in zip(np.ndindex(*grid), places):
        if off != zarr3.MISSING:
            a[tuple(slice(i * m, i * m + m) for i, m in zip(at, inner))] = unpacked(how["codecs"], stored[int(off):int(off + n)], inner, dtype, fill)
    return a


def values(read, name):
    """All of an array; read: a key's bytes, or None."""
    meta = json.loads(read(name + "/zarr.json"))
    shape, chunk = meta["shape"], meta["chunk_grid"]["configuration"]["chunk_shape"]
    a = np.full(shape, meta["fill_value"], meta["data_type"])
    for at in np.ndindex(*[-(-n // m) for n, m in zip(shape, chunk)]):
        stored = read("/".join([name, "c"] + [str(i) for i in at]))
        if stored is not None:
            where = tuple(slice(i * m, min(i * m + m, n)) for i, m, n in zip(at, chunk, shape))
            a[where] = unpacked(meta["codecs"], stored, chunk, meta["data_type"], meta["fill_value"])[tuple(slice(0, w.stop - w.start) for w in where)]
    return a


def values_in(store, name):
    def read(key):
        try:
            with open(os.path.join(store, key), "rb") as file:
                return file.read()
        except FileNotFoundError:
            return None
    return values(read, name)


if __name__ == "__main__":
    copy_store(sys.argv[1], sys.argv[2], sys.argv[3] == "shards")

"""pcodec.py make STORE | check MOUNT: arrays of the streams of test/data/pcodec, in Zarr V2 and V3, in shards and behind gzip; some of them
cut short. Needs nothing but Python."""

import array
import gzip
import json
import os
import struct
import sys

import stores

SAMPLES = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "data", "pcodec")
V3_TYPES = {"u": "uint%d", "i": "int%d", "f": "float%d"}
IN_NC = {"i2": "h", "i4": "i", "f4": "f", "f8": "d"}  # types that netCDF has, by Python's letters
NAMES = ("numcodecs.pcodec", "pcodec", "https://codec.zarrs.dev/array_to_bytes/pcodec")
ERROR = "user.zarrfs.error"
BYTES = {"name": "bytes", "configuration": {"endian": "little"}}


def samples():
    """Name, dtype, count, stream, numbers."""
    for name in sorted(os.listdir(SAMPLES)):
        with open(os.path.join(SAMPLES, name), "rb") as f:
            head = json.loads(f.readline())
            stream = f.read(head["bytes"])
            if head["count"]:
                yield name, head["dtype"], head["count"], stream, f.read()


def zfpy():
    """Configuration, dtype, shape, numbers and stream of a chunk as zfpy wrote it: the other codec that packs numbers."""
    with open(os.path.join(SAMPLES, "..", "filter", "samples.tsv"), encoding="utf8") as f:
        fields = next(fields for fields in (line.rstrip("\n").split("\t") for line in f) if fields[0] == "zfpy" and fields[2] == "<f8")
    config = {key: value for key, value in json.loads(fields[1]).items() if key in ("mode", "precision", "rate", "tolerance")}
    return config, fields[2][1:], json.loads(fields[3]), bytes.fromhex(fields[5]), bytes.fromhex(fields[6])


def write(path, content):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "wb") as f:
        f.write(content if isinstance(content, bytes) else json.dumps(content).encode())


def write_v2(path, dtype, count, stream):
    write(path + "/.zarray", {
        "zarr_format": 2, "shape": [count], "chunks": [count], "dtype": ("|" if dtype[1] == "1" else "<") + dtype, "order": "C",
        "compressor": {"id": "pcodec", "level": 8, "mode_spec": "auto", "new_key": [1]}, "filters": None, "fill_value": 0})
    write(path + "/0", stream)


def write_v3(path, dtype, shape, codecs, chunk):
    write(path + "/zarr.json", {
        "zarr_format": 3, "node_type": "array", "shape": shape, "data_type": V3_TYPES[dtype[0]] % (8 * int(dtype[1])), "codecs": codecs,
        "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": shape}}, "fill_value": 0, "attributes": {},
        "chunk_key_encoding": {"name": "default"}})
    write(path + "/c" + "/0" * len(shape), chunk)


def make(store):
    write(store + "/v2/.zgroup", {"zarr_format": 2})
    for group in "v3", "shard", "gzip", "cut", "twice", "zfpy":
        write("%s/%s/zarr.json" % (store, group), {"zarr_format": 3, "node_type": "group", "attributes": {}})
    config, dtype, shape, _, stream = zfpy()
    write_v3(store + "/zfpy/x", dtype, shape, [{"name": "numcodecs.zfpy", "configuration": config}], stream)
    for i, (name, dtype, count, stream, _) in enumerate(samples()):
        codec = {"name": NAMES[i % len(NAMES)], "configuration": {"level": 8}}
        write_v2("%s/v2/%s" % (store, name), dtype, count, stream)
        write_v3("%s/v3/%s" % (store, name), dtype, [count], [codec], stream)
        inner = {"chunk_shape": [count], "codecs": [codec], "index_codecs": [BYTES]}
        index = struct.pack("<6Q", 0, len(stream), 2**64 - 1, 2**64 - 1, 0, len(stream))
        write_v3("%s/shard/%s" % (store, name), dtype, [3 * count], [{"name": "sharding_indexed", "configuration": inner}], stream + index)
        write_v3("%s/gzip/%s" % (store, name), dtype, [count], [codec, {"name": "gzip", "configuration": {"level": 1}}], gzip.compress(stream, 1))
        write_v3("%s/cut/%s" % (store, name), dtype, [count], [codec], stream[:-1])
        write_v3("%s/twice/%s" % (store, name), dtype, [count], [dict(BYTES, configuration={"endian": "big"}), codec], stream)


def refused(path):
    try:
        stores.read(path)
    except OSError:
        return True
    return False


def check(mount):
    says = stores.Check()
    for name, dtype, count, _, numbers in samples():
        for group in "v2", "v3", "gzip":
            says.that(stores.read("%s/%s/%s" % (mount, group, name)) == numbers, "%s/%s differs" % (group, name))
        says.that(stores.read("%s/shard/%s" % (mount, name)) == numbers + bytes(len(numbers)) + numbers, "shard/%s differs" % name)
        says.that(refused("%s/cut/%s" % (mount, name)), "cut/%s can be read" % name)
        says.that(refused("%s/twice/%s" % (mount, name)), "twice/%s can be read" % name)
        if dtype not in IN_NC:
            continue
        big = array.array(IN_NC[dtype], numbers)
        if sys.byteorder == "little":
            big.byteswap()
        padded = big.tobytes() + bytes(-len(numbers) % 4)
        for group in "v2", "v3":
            says.that(stores.read("%s/%s/%s.nc" % (mount, group, name)).endswith(padded), "%s/%s.nc differs" % (group, name))
        says.that(refused("%s/cut/%s.nc" % (mount, name)), "cut/%s.nc can be read" % name)
    error = os.getxattr(mount + "/zfpy/x", ERROR) if ERROR in os.listxattr(mount + "/zfpy/x") else b""
    if b"which this build lacks" not in error:
        says.that(stores.read(mount + "/zfpy/x") == zfpy()[3], "zfpy differs")
    says.end()


if sys.argv[1] == "make":
    make(sys.argv[2])
else:
    check(sys.argv[2])

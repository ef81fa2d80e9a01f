"""zarr3.py make FOLDER: writes a Zarr V3 store (consolidated: its metadata also in the root's zarr.json).
zarr3.py check MOUNT: compares the flat files of a mount of it, and user.zarrfs.error of what cannot be read.
zarr3.py append FOLDER: one more step in time, in the array's own zarr.json and chunk."""

import gzip
import json
import os
import struct
import sys

import numpy as np

import stores

REGULAR = {"name": "regular"}
LITTLE = {"name": "bytes", "configuration": {"endian": "little"}}
BIG = {"name": "bytes", "configuration": {"endian": "big"}}
MISSING = 2**64 - 1


def crc32c(data):
    """CRC-32C, bit by bit: https://www.rfc-editor.org/rfc/rfc3720#appendix-B.4"""
    crc = 0xFFFFFFFF
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ (0x82F63B78 if crc & 1 else 0)
    return crc ^ 0xFFFFFFFF


def array(shape, chunks, data_type="float32", fill=0, codecs=(LITTLE,), dims=None, keys=None, **more):
    document = {"zarr_format": 3, "node_type": "array", "shape": list(shape), "data_type": data_type,
                "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": list(chunks)}},
                "chunk_key_encoding": keys or {"name": "default", "configuration": {"separator": "/"}},
                "fill_value": fill, "codecs": list(codecs), **more}
    if dims:
        document["dimension_names"] = dims
    return document


def group(attributes=None):
    return {"zarr_format": 3, "node_type": "group", "attributes": attributes or {}}


def pair(folder, dim):
    """Stores a and b beside each other, each of one array with that dimension."""
    for name in "ab":
        os.makedirs(os.path.join(folder, name))
        with open(os.path.join(folder, name, "zarr.json"), "w", encoding="utf8") as file:
            json.dump(array([2], [2], "int32", codecs=[LITTLE], dims=[dim]), file)


def shard(chunks, big=False, start=False, sums=1):
    """chunks: stored bytes of each inner chunk, or None."""
    index, bodies, at = b"", b"", (16 * len(chunks) + 4 * sums) if start else 0
    for stored in chunks:
        index += struct.pack(">QQ" if big else "<QQ", *((MISSING, MISSING) if stored is None else (at + len(bodies), len(stored))))
        bodies += stored or b""
    for _ in range(sums):
        index += struct.pack("<I", crc32c(index))
    return index + bodies if start else bodies + index


def sharding(chunk, codecs, big=False, start=False, sums=1):
    return {"name": "sharding_indexed", "configuration": {"chunk_shape": chunk, "codecs": codecs, "index_location": "start" if start else "end",
                                                          "index_codecs": [BIG if big else LITTLE] + [{"name": "crc32c"}] * sums}}


T2M = (np.arange(4 * 6).reshape(4, 6) * 0.5 + 250).astype("f4")
WIDE = np.arange(8 * 8, dtype="i2").reshape(8, 8)
NAMES = ["", "Zürich", "a"]
ZIP = {"name": "gzip", "configuration": {"level": 5}}


def blocks(a, n, m):
    return [np.ascontiguousarray(a[i:i + n, j:j + m]) for i in range(0, a.shape[0], n) for j in range(0, a.shape[1], m)]


def vlen(texts):
    return struct.pack("<I", len(texts)) + b"".join(struct.pack("<I", len(t.encode())) + t.encode() for t in texts)


def nodes():
    """(path, document, {chunk key: bytes})"""
    time = array([4], [2], "int64", codecs=[LITTLE], dims=["time"], attributes={"units": "days since 2020-01-01", "standard_name": "time"})
    yield "", group({"title": "a V3 store"}), {}
    yield "time", time, {"c/0": np.arange(0, 2, dtype="<i8").tobytes(), "c/1": np.arange(2, 4, dtype="<i8").tobytes()}
    yield ("t2m", array([4, 6], [1, 6], fill="NaN", codecs=[BIG, ZIP], dims=["time", "x"], attributes={"_FillValue": "AAAAAAAA+H8=", "units": "K"}),
           {"c/%d/0" % i: gzip.compress(T2M[i].astype(">f4").tobytes()) for i in range(4)})
    yield ("turned", array([4, 6], [4, 6], codecs=[{"name": "transpose", "configuration": {"order": [1, 0]}}, LITTLE], dims=["time", None],
                           keys={"name": "v2"}), {"0.0": T2M.T.tobytes()})
    yield ("bits", array([2], [2], fill="0x40490fdb"), {})
    yield ("names", array([3], [3], "string", fill="", codecs=[{"name": "vlen-utf8"}, ZIP], dims=["station"]), {"c/0": gzip.compress(vlen(NAMES))})
    yield ("group/scalar", array([], [], "int16", fill=-7, codecs=[LITTLE]), {"c": struct.pack("<h", 42)})
    inner = [gzip.compress(b.astype(">i2").tobytes()) for b in blocks(WIDE[:4], 2, 4)]
    yield ("group/sharded", array([8, 8], [4, 8], "int16", fill=-1, codecs=[sharding([2, 4], [BIG, ZIP], big=True, start=True)], dims=["y", "x"]),
           {"c/0/0": shard(inner, big=True, start=True)})
    yield ("group/holes", array([4, 8], [4, 8], "int16", fill=9, codecs=[sharding([2, 4], [LITTLE], sums=2)]),
           {"c/0/0": shard([None, WIDE[:2, 4:].astype("<i2").tobytes(), None, None], sums=2)})
    yield "group/twice", array([8, 8], [8, 8], "int16", codecs=[sharding([4, 8], [sharding([2, 4], [LITTLE])])]), {
        "c/0/0": shard([shard([b.astype("<i2").tobytes() for b in blocks(WIDE[i:i + 4], 2, 4)]) for i in (0, 4)])}
    bad = bytearray(shard([b.astype("<i2").tobytes() for b in blocks(WIDE[:4], 2, 4)]))
    bad[-10] ^= 1
    yield "group/bad_sum", array([4, 8], [4, 8], "int16", codecs=[sharding([2, 4], [LITTLE])]), {"c/0/0": bytes(bad)}
    beyond = shard([b.astype("<i2").tobytes() for b in blocks(WIDE[:4], 2, 4)], sums=0)
    yield ("group/beyond", array([4, 8], [4, 8], "int16", codecs=[sharding([2, 4], [LITTLE], sums=0)]),
           {"c/0/0": beyond[:-8] + struct.pack("<Q", 1 << 60)})
    halves = [b.astype("<i2").tobytes() for b in blocks(WIDE[:4], 2, 4)]
    over = shard(halves, sums=0)
    entry = len(over) - 64
    over = over[:entry] + over[entry + 16:entry + 32] + over[entry:entry + 8] + struct.pack("<Q", 17) + over[entry + 32:]
    yield "group/overlap", array([4, 8], [4, 8], "int16", codecs=[sharding([2, 4], [LITTLE], sums=0)]), {"c/0/0": over}
    yield "group/uneven", array([4, 8], [4, 8], "int16", codecs=[sharding([3, 4], [LITTLE])]), {"c/0/0": shard(halves)}
    one = [LITTLE]
    for _ in range(9):
        one = [sharding([1], one)]
    yield "group/deep", array([1], [1], "int16", codecs=one), {"c/0": b""}
    yield "group/ones", array([1], [1], "int16", codecs=[sharding([1], [sharding([1], [LITTLE])])]), {"c/0": shard([shard([b"\x05\x00"])])}
    yield "group/unknown", array([2], [2], must={"name": "x"}), {}
    yield "group/codec", array([2], [2], codecs=[LITTLE, {"name": "numcodecs.nothing"}]), {}
    yield "group/type", array([2], [2], "float9_e4m4"), {}
    yield ("half", array([3], [2], "bfloat16", fill="0x4049", codecs=[BIG], dims=["station"]), {"c/0": bytes.fromhex("3fc0c000")})
    scaled = [{"name": "scale_offset", "configuration": {"offset": 200, "scale": 2}}, {"name": "cast_value", "configuration": {"data_type": "uint8"}}, {"name": "bytes"}]
    yield "scaled", array([4], [4], codecs=scaled), {"c/0": bytes([0, 1, 100, 255])}
    yield "bools", array([9], [9], "bool", fill=False, codecs=[{"name": "packbits"}]), {"c/0": b"\x0d\x01"}
    uneven = {"name": "rectilinear", "configuration": {"kind": "inline", "chunk_shapes": [[1, 3, 4], [[3, 2], 5]]}}
    cuts = [(i, n, j, m) for i, n in ((0, 1), (1, 3), (4, 4)) for j, m in ((0, 3), (3, 3), (6, 2))]
    turn = {"name": "transpose", "configuration": {"order": [1, 0]}}
    stored = {"c/%d/%d" % (k // 3, k % 3): gzip.compress(np.pad(WIDE[i:i + n, j:j + m], ((0, 0), (0, 3 * (m == 2)))).T.astype("<i2").tobytes())
              for k, (i, n, j, m) in enumerate(cuts) if k != 4}
    yield "uneven", {**array([8, 8], [], "int16", fill=-3, codecs=[turn, LITTLE, ZIP]), "chunk_grid": uneven}, stored
    yield "eighth", array([2], [2], "float8_e5m2", codecs=[{"name": "bytes"}, ZIP]), {"c/0": gzip.compress(b"\x7b\xbe")}
    yield ("nibbles", array([4], [4], "int4", fill=-1, codecs=[sharding([2], [{"name": "bytes"}])]), {"c/0": shard([b"\x07\xf8", None])})
    yield "group/transformed", array([2], [2], storage_transformers=[{"name": "x"}]), {}
    yield "group/huge", array([1 << 30, 1 << 30], [1 << 30, 1 << 30], "int16", codecs=[sharding([1, 1], [LITTLE])]), {}


def make(folder):
    consolidated = {}
    for path, document, chunks in nodes():
        if path:
            consolidated[path] = document
        for key, stored in chunks.items():
            name = os.path.join(folder, path, key)
            os.makedirs(os.path.dirname(name), exist_ok=True)
            with open(name, "wb") as file:
                file.write(stored)
    for path, document, _ in nodes():
        os.makedirs(os.path.join(folder, path), exist_ok=True)
        if not path:
            document["consolidated_metadata"] = {"kind": "inline", "must_understand": False, "metadata": consolidated}
        with open(os.path.join(folder, path, "zarr.json"), "w", encoding="utf8") as file:
            json.dump(document, file)


def check(mount):
    test = stores.Check()
    missing = np.full((4, 8), 9, "i2")
    missing[:2, 4:] = WIDE[:2, 4:]
    whole = np.vstack([WIDE[:4], np.full((4, 8), -1, "i2")])
    uneven = WIDE.copy()
    uneven[1:4, 3:6] = -3
    want = {"uneven": uneven, "time": np.arange(4), "t2m": T2M, "turned": T2M, "bits": np.frombuffer(struct.pack("<I", 0x40490FDB) * 2, "u1"),
            "names": np.array([name.encode() for name in NAMES], "S7"), "group/scalar": np.array(42, "i2"), "group/sharded": whole,
            "group/ones": np.array([5], "i2"), "group/holes": missing, "group/twice": WIDE, "half": np.array([1.5, -2, 3.140625], "f4"), "eighth": np.array([57344, -1.5], "f4"),
            "scaled": np.array([200, 200.5, 250, 327.5], "f4"), "bools": np.array([1, 0, 1, 1, 0, 0, 0, 0, 1], "u1"),
            "nibbles": np.array([7, -8, -1, -1], "i1")}
    for name, values in want.items():
        test.same(name, stores.read(os.path.join(mount, name)), values.tobytes())
    why = {"group/overlap": b"overlap", "group/uneven": b"does not divide", "group/deep": b"shards in shards", "group/bad_sum": b"checksum", "group/beyond": b"lies at", "group/unknown": b"'must' in zarr.json", "group/codec": b"numcodecs.nothing",
           "group/type": b"float9_e4m4", "group/transformed": b"storage transformers", "group/huge": b"chunks in one shard"}
    for name, reason in why.items():
        path = os.path.join(mount, name)
        try:
            stores.read(path)
            test.that(False, "%s can be read" % name)
        except OSError:
            said = os.getxattr(path, "user.zarrfs.error")
            test.that(reason in said, "%s says %r" % (name, said))
    test.end()


def append(folder):
    path = os.path.join(folder, "t2m")
    with open(os.path.join(path, "zarr.json"), encoding="utf8") as file:
        document = json.load(file)
    document["shape"][0] += 1
    os.makedirs(os.path.join(path, "c/4"))
    with open(os.path.join(path, "c/4/0"), "wb") as file:
        file.write(gzip.compress(np.full(6, 99, ">f4").tobytes()))
    with open(os.path.join(path, "zarr.json.new"), "w", encoding="utf8") as file:
        json.dump(document, file)
    os.rename(file.name, os.path.join(path, "zarr.json"))


if __name__ == "__main__":
    {"make": make, "check": check, "append": append}[sys.argv[1]](sys.argv[2])

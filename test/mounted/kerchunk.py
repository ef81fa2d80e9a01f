"""kerchunk.py make DIR: a netCDF classic file, DIR/set/src.nc, sets of kerchunk references to what is in it, in every form, and in DIR/want
the bytes that each of its variables has."""

import base64
import gzip
import json
import os
import random
import struct
import sys


def padded(name):
    raw = name.encode()
    return struct.pack(">I", len(raw)) + raw + bytes(-len(raw) % 4)


def netcdf(dims, variables, records):
    """A file of CDF-1: variables of (name, dims, type, values as bytes); of record variables the values are records of equal size.
    Returns it, and where each begins: {name: (offset, size of a record or of all)}."""
    sizes = {1: 1, 2: 1, 3: 2, 4: 4, 5: 4, 6: 8}
    names = list(dims)
    fixed = [v for v in variables if v[1][:1] != ["rec"]]
    recs = [v for v in variables if v[1][:1] == ["rec"]]

    def size(v):
        n = sizes[v[2]]
        for d in v[1]:
            n *= dims[d] or 1
        return n

    def header(begin):
        h = b"CDF\1" + struct.pack(">I", records) + struct.pack(">II", 10, len(dims))
        for d in names:
            h += padded(d) + struct.pack(">I", dims[d])
        h += bytes(8) + struct.pack(">II", 11, len(variables))
        for v in variables:
            h += padded(v[0]) + struct.pack(">I", len(v[1])) + b"".join(struct.pack(">I", names.index(d)) for d in v[1])
            h += bytes(8) + struct.pack(">III", v[2], size(v) + -size(v) % 4, begin.get(v[0], 0))
        return h

    begin, at = {}, len(header({}))
    for v in fixed + recs:
        begin[v[0]] = at
        at += size(v) + -size(v) % 4
    out = bytearray(header(begin))
    for v in fixed:
        out += v[3] + bytes(-len(v[3]) % 4)
    for r in range(records):
        for v in recs:
            part = v[3][r * size(v):(r + 1) * size(v)]
            out += part + bytes(-len(part) % 4)
    stride = sum(size(v) + -size(v) % 4 for v in recs)
    return bytes(out), begin, {v[0]: size(v) for v in variables}, stride


def zarray(shape, chunks, dtype, fill=None, **more):
    return dict(zarr_format=2, shape=shape, chunks=chunks, dtype=dtype, fill_value=fill, order="C", compressor=None, filters=None, **more)


# --- parquet, as far as references need it: one row group, PLAIN, uncompressed ---

def varint(n):
    out = b""
    while n > 127:
        out += bytes([n & 127 | 128])
        n >>= 7
    return out + bytes([n])


def number(kind, delta, n):
    return bytes([delta << 4 | kind]) + varint(n << 1 if n >= 0 else (-n << 1) - 1)


def text(delta, s):
    return bytes([delta << 4 | 8]) + varint(len(s)) + s


def parquet(rows):
    """rows: (path, offset, size, raw), each None or a value."""
    out, columns = b"PAR1", b""
    for i, name in enumerate((b"path", b"offset", b"size", b"raw")):
        levels = b"".join(varint(1 << 1) + bytes([r[i] is not None]) for r in rows)
        values = b"".join(struct.pack("<q", r[i]) if i in (1, 2) else struct.pack("<I", len(r[i])) + r[i] for r in rows if r[i] is not None)
        page = struct.pack("<I", len(levels)) + levels + values
        head = number(5, 1, 0) + number(5, 1, len(page)) + number(5, 1, len(page)) + b"\x2c"
        head += number(5, 1, len(rows)) + number(5, 1, 0) + number(5, 1, 3) + number(5, 1, 3) + b"\0\0"
        columns += b"\x3c" + number(5, 1, 2 if i in (1, 2) else 6) + b"\x19\x15\0\x19\x18" + varint(len(name)) + name
        columns += number(5, 1, 0) + number(6, 1, len(rows)) + number(6, 1, len(page)) + number(6, 1, len(page)) + number(6, 2, len(out)) + b"\0\0"
        out += head + page
    schema = b"\x48" + varint(6) + b"schema" + number(5, 1, 4) + b"\0"
    for i, name in enumerate((b"path", b"offset", b"size", b"raw")):
        schema += number(5, 1, 2 if i in (1, 2) else 6) + number(5, 2, 1) + text(1, name) + b"\0"
    footer = number(5, 1, 1) + b"\x19\x5c" + schema + number(6, 1, len(rows)) + b"\x19\x1c"
    footer += b"\x19\x4c" + columns + number(6, 1, 0) + number(6, 1, len(rows)) + b"\0\0"
    return out + footer + struct.pack("<I", len(footer)) + b"PAR1"


def lazy(path, docs, refs, record_size):
    """refs: {array: {number of a chunk: reference}}"""
    os.makedirs(path)
    with open(path + "/.zmetadata", "w", encoding="utf8") as f:
        json.dump({"metadata": docs, "record_size": record_size}, f)
    for array, chunks in refs.items():
        os.makedirs("%s/%s" % (path, array))
        for part in {n // record_size for n in chunks}:
            rows = []
            for n in range(part * record_size, (part + 1) * record_size):
                ref = chunks.get(n)
                if ref is None:
                    rows.append((None, None, None, None))
                elif isinstance(ref, bytes):
                    rows.append((None, None, None, ref))
                else:
                    rows.append((ref[0].encode(), ref[1] if len(ref) > 1 else 0, ref[2] if len(ref) > 2 else 0, None))
            with open("%s/%s/refs.%d.parq" % (path, array, part), "wb") as f:
                f.write(parquet(rows))


def zstd(raw):
    """A frame of blocks that are not compressed."""
    out = b"\x28\xb5\x2f\xfd\xa0" + struct.pack("<I", len(raw))
    for at in range(0, len(raw), 1000):
        part = raw[at:at + 1000]
        out += struct.pack("<I", (at + 1000 >= len(raw)) | len(part) << 3)[:3] + part
    return out


def make(top):
    rng = random.Random(7)
    temp, scalar, whole = rng.randbytes(3 * 4 * 5 * 4), rng.randbytes(8), rng.randbytes(100)
    time, wind = rng.randbytes(5 * 8), rng.randbytes(5 * 3 * 2)
    src, begin, size, stride = netcdf(
        {"rec": 0, "z": 3, "y": 4, "x": 5, "w": 3},
        [("temp", ["z", "y", "x"], 5, temp), ("scalar", [], 6, scalar), ("time", ["rec"], 6, time), ("wind", ["rec", "w"], 3, wind)], 5)
    for d in ("set", "want", "other"):
        os.makedirs(os.path.join(top, d))

    def put(name, content):
        with open(os.path.join(top, name), "wb") as f:
            f.write(content)

    put("set/src.nc", src)
    put("set/whole #1%41.bin", whole)
    gaps = temp[:80] + struct.pack(">f", -1) * 20 + temp[160:]
    for name, content in dict(temp=temp, scalar=scalar, time=time, wind=wind, whole=whole, gaps=gaps, inline=b"\0\1\x7f\n", b64=temp[:40]).items():
        put("want/" + name, content)
    docs = {".zgroup": {"zarr_format": 2}, ".zattrs": {"title": "made of a netCDF file"}}
    layouts = dict(temp=zarray([3, 4, 5], [1, 4, 5], ">f4"), scalar=zarray([], [], ">f8"), time=zarray([5], [1], ">f8"), wind=zarray([5, 3], [1, 3], ">i2"),
                   whole=zarray([100], [100], "|u1"), gaps=zarray([3, 4, 5], [1, 4, 5], ">f4", -1), inline=zarray([4], [4], "|u1"),
                   b64=zarray([10], [10], ">f4"))
    for name, layout in layouts.items():
        docs[name + "/.zarray"] = layout
        docs[name + "/.zattrs"] = {"_ARRAY_DIMENSIONS": ["%s_%d" % (name, i) for i in range(len(layout["shape"]))]}

    def chunks(base, sep="."):
        refs = {}
        for z in range(3):
            refs["temp/%d%s0%s0" % (z, sep, sep)] = [base + "src.nc", begin["temp"] + z * 80, 80]
            if z != 1:
                refs["gaps/%d%s0%s0" % (z, sep, sep)] = [base + "src.nc", begin["temp"] + z * 80, 80]
        refs["scalar/0"] = [base + "src.nc", begin["scalar"], 8]
        for r in range(5):
            refs["time/%d" % r] = [base + "src.nc", begin["time"] + r * stride, 8]
            refs["wind/%d%s0" % (r, sep)] = [base + "src.nc", begin["wind"] + r * stride, size["wind"]]
        refs["whole/0"] = [base + "whole #1%41.bin"]
        refs["inline/0"] = "\0\1\x7f\n"
        refs["b64/0"] = "base64:" + base64.b64encode(temp[:40]).decode()
        return refs

    here = os.path.abspath(os.path.join(top, "set")) + "/"
    v0 = json.dumps({**docs, **chunks("")}).encode()
    put("set/v0.json", v0)
    put("set/packed", gzip.compress(json.dumps({"version": 1, "refs": {**docs, **chunks("./")}}, indent=1).encode()))
    put("set/packed.json.zst", zstd(v0))
    put("set/strings.json", json.dumps({"refs": {**{k: json.dumps(v) for k, v in docs.items()}, **chunks("../set/")}, "version": 1}).encode())
    slash = {k: dict(v, dimension_separator="/") if k.endswith(".zarray") else v for k, v in docs.items()}
    put("set/slash.json", json.dumps({"version": 1, "refs": {**slash, **chunks("", "/")}}).encode())
    # elsewhere: as URLs of files, through templates, by gen, below a URL that is sent elsewhere
    put("other/url.json", json.dumps({"version": 1, "refs": {**docs, **chunks("file://" + here)}}).encode())
    put("other/path.json", json.dumps({"version": 1, "refs": {**docs, **chunks(here)}}).encode())
    put("other/up.json", json.dumps({"version": 1, "refs": {**docs, **chunks("../set/")}}).encode())
    put("other/template.json", json.dumps({"version": 1, "refs": {**docs, **chunks("{{ d }}{{f(c='')}}")}, "templates": {"d": here, "f": "{{c}}"}}).encode())
    put("other/moved.json", json.dumps({"version": 1, "refs": {**docs, **chunks("s3://no-such-bucket/a/")}}).encode())
    rest = {k: v for k, v in chunks(here).items() if not k.startswith(("time/", "wind/"))}
    put("other/gen.json", json.dumps({"version": 1, "templates": {"u": here + "src.nc"}, "refs": {**docs, **rest}, "gen": [
        {"key": "time/{{i}}", "url": "{{u}}", "offset": "{{%d + i * %d}}" % (begin["time"], stride), "length": "8", "dimensions": {"i": {"stop": 5}}},
        {"key": "wind/{{i}}.{{j}}", "url": "{{u}}", "offset": "{{(i + j) * %d + %d}}" % (stride, begin["wind"]), "length": "6",
         "dimensions": {"i": [4, 3, 2, 1, 0], "j": {"start": 0, "stop": 1}}}]}).encode())
    v3 = dict(zarr_format=3, node_type="array", shape=[3, 4, 5], data_type="float32", chunk_grid={"name": "regular", "configuration": {"chunk_shape": [1, 4, 5]}},
              chunk_key_encoding={"name": "default", "configuration": {"separator": "/"}}, fill_value=0,
              codecs=[{"name": "bytes", "configuration": {"endian": "big"}}], attributes={}, dimension_names=["z", "y", "x"])
    put("set/v3.json", json.dumps({"version": 1, "refs": {
        "zarr.json": {"zarr_format": 3, "node_type": "group", "attributes": {}}, "temp/zarr.json": v3,
        **{"temp/c/%d/0/0" % z: ["src.nc", begin["temp"] + z * 80, 80] for z in range(3)}}}).encode())
    # parquet: three references a file; of `gaps` one file is not there
    up = "../../src.nc"
    lazy(top + "/set/refs.parq", docs, {
        "temp": {z: (up, begin["temp"] + z * 80, 80) for z in range(3)}, "gaps": {z: (up, begin["temp"] + z * 80, 80) for z in (0, 2)},
        "scalar": {0: (here + "src.nc", begin["scalar"], 8)}, "time": {r: (up, begin["time"] + r * stride, 8) for r in range(5)},
        "wind": {r: (up, begin["wind"] + r * stride, 6) for r in range(5)}, "whole": {0: ("../../whole #1%41.bin",)}, "inline": {0: b"\0\1\x7f\n"},
        "b64": {0: b"base64:" + base64.b64encode(temp[:40])}}, 2)
    # what must be an error: the second chunk's source is not there, or is too short, or the reference makes no sense
    for name, ref in dict(absent=["no.nc", 0, 80], short=["src.nc", len(src) - 40, 80], beyond=["src.nc", 1 << 62, 80], two=["src.nc", 0],
                          chain=["zip://a::file:///b", 0, 80], kind=["az://a/b", 0, 80]).items():
        put("set/bad_%s.json" % name, json.dumps({"version": 1, "refs": {**docs, **chunks(""), "temp/1.0.0": ref}}).encode())
    put("set/bomb.json", b'{"version": 1, "refs": {}, "gen": [{"key": "a/{{i}}", "url": "u", "dimensions": {"i": {"stop": 1000000000}}}]}')
    put("set/cut.json", v0[:-20])
    put("set/two.json", b'{"version": 2, "refs": {}}')
    put("set/blanks.json.gz", gzip.compress(b" " * (100 << 20)))


if __name__ == "__main__":
    make(sys.argv[2])

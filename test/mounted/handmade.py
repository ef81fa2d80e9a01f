"""handmade.py make FOLDER: writes arrays below FOLDER. handmade.py little|big MOUNT: compares what a mount of it shows."""

import base64
import bz2
import errno
import gzip
import itertools
import json
import lzma
import os
import struct
import sys
import zlib

import numpy as np

import stores

PLAIN = {"zarr_format": 2, "shape": [4], "chunks": [2], "dtype": "<i4", "compressor": None, "fill_value": 0, "order": "C", "filters": None}
LEFT_OUT = object()
ROWS = []  # (name, text of .zarray, text of .zattrs or None, chunks, elements or bytes or None for EIO)


def row(name, want, stored, attrs=None, raw=None, **changes):
    """An array: what differs from PLAIN; want: elements (of which a file shows the bytes), bytes, or None: it cannot be read."""
    document = {key: value for key, value in {**PLAIN, **changes}.items() if value is not LEFT_OUT}
    if attrs is not None and not isinstance(attrs, str):
        attrs = json.dumps(attrs)
    ROWS.append(("%03d %s" % (len(ROWS), name.replace("/", "|")[:200]), json.dumps(document) if raw is None else raw, attrs, stored, want))


def ints(*values):
    return np.array(values, "<i4").tobytes()


FOUR = {"0": ints(1, 2), "1": ints(3, 4)}
WANT = np.array([1, 2, 3, 4], "i4")


def packed(pack, chunks=FOUR):
    return {key: pack(value) for key, value in chunks.items()}


def spellings():
    for key in "fill_value filters compressor order zarr_format".split():
        row("no " + key, WANT, FOUR, **{key: LEFT_OUT})
    for changes in ({"filters": []}, {"compressor": {}}, {"compressor": {"type": "raw"}}, {"compressor": "null"}, {"order": None}, {"dimension_separator": "."},
                    {"dimension_separator": "/"}, {"dimension_separator": None}, {"zarr_format": "2"}, {"foo": 1, "bar": {"x": [1]}}):
        row(str(changes), WANT, FOUR, **changes)
    text = json.dumps(PLAIN)
    for name, raw in (("bare sizes", text.replace("[4]", "4").replace("[2]", "2")), ("reals as sizes", text.replace("[4]", "[4.0]").replace("[2]", "[2e0]")),
                      ("BOM", "\ufeff" + text), ("the last of two counts", text.replace('"shape"', '"shape": [9], "shape"'))):
        row(name, WANT, FOUR, raw=raw)
    for attrs in ('{"a":', "[1]", "", "null", '{"a": NaN, "a": 2}', '{"_ARRAY_DIMENSIONS": "x"}', '{"_ARRAY_DIMENSIONS": ["x", "y"]}', '{"_ARRAY_DIMENSIONS": [null]}',
                  '{"_nczarr_array": []}', '{"_nczarr_array": {"dimension_references": [1]}}'):
        row("attributes " + attrs, WANT, FOUR, attrs=attrs)
    properties = "version=2,netcdf=4.9.2,hdf5=1.12.2"  # of the netCDF-4 file that the array was made from
    row("_NCProperties of a netCDF-4 file", WANT, {"0": np.array([1, 2], ">i4").tobytes(), "1": np.array([3, 4], ">i4").tobytes()}, dtype=">i4",
        attrs={"_NCProperties": properties})
    for raw in (text[:20], "", "[]", text.replace("[4]", "[-4]"), text.replace("[4]", "[4, 1]"), text.replace("[2]", "[0]")):
        row("bad " + raw[:60], None, FOUR, raw=raw)
    for changes in ({"order": "X"}, {"zarr_format": 3}, {"dimension_separator": ":"}, {"dtype": "<f16"}, {"dtype": "<c32"}, {"shape": [2 ** 62, 2 ** 62], "chunks": [1, 1]},
                    {"compressor": {"id": "no_such"}}, {"dtype": "|O", "filters": [{"id": "pickle"}]}):
        row("bad %s" % changes, None, FOUR, **changes)


def fill_values():
    def fill(dtype, value, want, kind=None):
        kind = kind or dtype
        row("%s fill %s" % (dtype, json.dumps(value)), np.array([want, want], kind), {}, dtype=dtype, fill_value=value, shape=[2], chunks=[2])

    for dtype in "<f4 >f4 <f8 >f8 <f2 >f2".split():
        for value, want in (("NaN", np.nan), ("Infinity", np.inf), ("-Infinity", -np.inf), (np.nan, np.nan), (np.inf, np.inf), (-np.inf, -np.inf), ("Nan", np.nan),
                            ("-9999.5", -9999.5), (-0.0, -0.0), (0.1, 0.1), ([1.5], 1.5), (None, 0), (True, 1)):
            fill(dtype, value, want)
    for dtype, value in (("<f8", 9.969209968386869e36), ("<f4", 9.969209968386869e36), ("<f8", 5e-324), ("<f4", 1e-45), ("<f8", 2 ** 63), ("<f8", 12345678901234567890123),
                         ("<i8", 2 ** 63 - 1), (">i8", -2 ** 63), ("<u8", 2 ** 64 - 1), (">u8", 2 ** 64 - 2), ("<i8", 2 ** 53 + 1), ("<u4", 2 ** 32 - 1), ("<i2", -32768),
                         (">u2", 65535), ("|i1", -128), ("<u1", 255), ("i4", 6), ("=i4", 8), ("<i4", True)):
        fill(dtype, value, value)
    fill("|i4", 5, 5, "i4")
    for value, want in ((3.0, 3), ("17", 17), ([5], 5)):
        fill("<i4", value, want)
    for value, want in ((True, True), (1, True), (False, False), (None, False), ("true", True)):
        fill("|b1", value, want)
    for dtype, value, want in (("<c8", ["NaN", 1.5], complex(np.nan, 1.5)), (">c16", [1, -2], 1 - 2j), ("<c8", 0, 0), ("<c16", [0.0, "-Infinity"], complex(0, -np.inf)),
                               ("<U3", "aß", "aß"), (">U3", "a€😀", "a€😀"), ("<U3", "", ""), ("<U3", None, ""), ("|S4", "YWI=", b"ab"), ("|S4", "", b""), ("|S4", None, b""),
                               ("|S4", "YWJjZA==", b"abcd")):
        fill(dtype, value, want)
    for dtype, value, want in (("<M8[ns]", -2 ** 63, -2 ** 63), ("<M8[ns]", "NaT", -2 ** 63), (">M8[D]", 10957, 10957), ("<m8[25us]", 7, 7), ("<M8[ns]", None, 0)):
        fill(dtype, value, want, "i8")
    for value, want in (("AQID", b"\1\2\3"), ("AQ==", b"\1\0\0"), (None, b"\0\0\0"), (0, b"\0\0\0")):
        row("V3 fill %s" % value, want * 2, {}, dtype="|V3", fill_value=value, shape=[2], chunks=[2])
    fields = [["a", "<i2"], ["b", ">f4"], ["c", "|S2"]]
    kind = np.dtype([(name, part) for name, part in fields])
    for value, want in ((base64.b64encode(struct.pack("<h", 5) + struct.pack(">f", 1.5) + b"xy").decode(), (5, 1.5, b"xy")), (0, (0, 0, b"")), (None, (0, 0, b"")), ("BQA=", (5, 0, b""))):
        fill(fields, value, want, kind)
    for value in ("abc", 2 ** 40, {"a": 1}):
        row("bad fill %s" % value, None, {"0": ints(1, 2)}, fill_value=value)
        row("bad fill %s that is not needed" % value, WANT, FOUR, fill_value=value)


def dtypes():
    for name, kind in (("float32", "<f4"), ("int64", "<i8"), ("?", "|b1"), ("|?", "|b1"), ("bool", "|b1"), ("complex64", "<c8"), ("f8", "<f8"), ("|f8", "<f8"), ("=f4", "<f4"),
                       ("datetime64[ns]", "<i8"), ("<M8[us]", "<i8"), ("<M8[μs]", "<i8"), ("<M8[µs]", "<i8"), ("<m8", "<i8"), ("<M8[generic]", "<i8"), (">M8[10ns]", ">i8")):
        raw = b"\0\1\0\1" if kind == "|b1" else bytes(range(1, 1 + 4 * np.dtype(kind).itemsize))
        row("dtype " + name, np.frombuffer(raw, kind), {"0": raw[:len(raw) // 2], "1": raw[len(raw) // 2:]}, dtype=name)
    odd = {"0": b"\0\2", "1": b"\xff\1"}
    for name, compressor, pack in (("raw", None, bytes), ("zlib", {"id": "zlib"}, zlib.compress)):
        row("odd booleans " + name, b"\0\1\1\1", packed(pack, odd), dtype="|b1", compressor=compressor)
    kind = np.dtype([("p", [("x", ">i2"), ("y", "<f8")]), ("q", ">u4", (2, 3)), ("r", "|b1"), ("s", "<U2"), ("t", ">U2"), ("u", ">c8"), ("v", ">i8")])
    fields = [["p", [["x", ">i2"], ["y", "<f8"]]], ["q", ">u4", [2, 3]], ["r", "|b1"], ["s", "<U2"], ["t", ">U2"], ["u", ">c8"], ["v", ">M8[s]"]]
    values = np.zeros(6, kind)
    values["p"]["x"], values["p"]["y"], values["q"] = range(6), [x / 7 for x in range(6)], np.arange(36).reshape(6, 2, 3) * 100000
    values["r"], values["s"], values["t"], values["u"], values["v"] = [0, 1, 1, 0, 1, 0], "a€", "😀b", np.arange(6) + 1j, np.arange(6) - 3
    chunks = {"0": values[:3].tobytes(), "1": values[3:].tobytes()}
    row("nested fields", values[:5], chunks, dtype=fields, shape=[5], chunks=[3], fill_value=None)


def codecs():
    def shuffled(value):
        return np.frombuffer(value, "u1").reshape(-1, 4).T.tobytes()

    for compressor in ({"id": "zlib", "level": "5"}, {"id": "zlib"}, {"id": "zlib", "level": -1}):
        row(str(compressor), WANT, packed(zlib.compress), compressor=compressor)
    for size in ({"elementsize": "4"}, {"elementsize": 0}, {}):
        row("shuffle %s" % size, WANT, packed(lambda b: zlib.compress(shuffled(b))), compressor={"id": "zlib", "level": 1}, filters=[{"id": "shuffle", **size}])
    row("shuffle as compressor", WANT, packed(shuffled), compressor={"id": "shuffle", "elementsize": 4})
    row("zlib as filter", WANT, packed(zlib.compress), filters=[{"id": "zlib"}])
    row("zlib twice", WANT, packed(lambda b: zlib.compress(zlib.compress(b))), filters=[{"id": "zlib"}], compressor={"id": "zlib"})
    for name, pack in (("gzip", gzip.compress), ("bz2", bz2.compress), ("lzma", lzma.compress)):
        row(name + " in two members", WANT, packed(lambda b, pack=pack: pack(b[:4]) + pack(b[4:])), compressor={"id": name, "format": 1} if name == "lzma" else {"id": name})
    # netcdf-c shuffles its strings as the pointers that they are in memory
    texts = [b"", b"a", b"longer text", b"x" * 16]
    raw = b"".join(text.ljust(16, b"\0") for text in texts)
    for dtype, value in (("|S16", np.frombuffer(raw, "u1").reshape(-1, 8).T.tobytes()), (">S1", raw)):
        count = len(raw) // int(dtype[2:])
        row("netcdf-c's shuffle of " + dtype, raw, {"0": value}, dtype=dtype, shape=[count], chunks=[count], fill_value="", filters=[{"id": "shuffle", "elementsize": 0}])
    for name, last in (("truncated", ints(3)), ("overlong", ints(3, 4, 5)), ("empty", b"")):
        row(name, None, {"0": ints(1, 2), "1": last})
    row("truncated zlib", None, packed(lambda b: zlib.compress(b)[:-2]), compressor={"id": "zlib"})


def shapes():
    for rank in range(9):
        shape = [2] * rank
        values = np.arange(2 ** rank, dtype="<u2").reshape(shape)
        one = {".".join(map(str, index)) or "0": values[index].tobytes() for index in itertools.product(range(2), repeat=rank)}
        wide = np.full([3] * rank, 9, "<u2")
        wide[tuple(slice(0, 2) for _ in shape)] = values
        for order in "CF":
            key = ".".join("0" * rank) or "0"
            row("rank %d %s" % (rank, order), values, one, shape=shape, chunks=[1] * rank, dtype="<u2", order=order)
            row("rank %d %s in one" % (rank, order), values, {key: wide.tobytes(order=order)}, shape=shape, chunks=[3] * rank, dtype="<u2", order=order)
    for shape, chunk in (([0], [1]), ([0], [0]), ([3, 0, 2], [1, 1, 1]), ([0, 2 ** 40, 2 ** 40], [1, 1, 1])):
        row("nothing %s" % shape, b"", {}, shape=shape, chunks=chunk)
    row("huge chunk", bytes(4000), {}, shape=[1000], chunks=[2 ** 40])
    values = np.arange(6, dtype="i4").reshape(2, 3)
    dots = {"%d.%d" % (i, j): values[i, j].tobytes() for i in range(2) for j in range(3)}
    slashes = {key.replace(".", "/"): value for key, value in dots.items()}
    row("slashes", values, {**slashes, "junk/x": b"x"}, shape=[2, 3], chunks=[1, 1], dimension_separator="/")
    row("dots beside slashes", values, {**packed(lambda b: b"\xff" * 4, slashes), **dots}, shape=[2, 3], chunks=[1, 1])


def variable_length():
    def encode(texts):
        return struct.pack("<I", len(texts)) + b"".join(struct.pack("<I", len(text)) + text for text in texts)

    def vlen(name, texts, width, chunk=None, missing=(), attrs=None, pack=bytes, codec="vlen-utf8", stored=None, **changes):
        """width None: it cannot be read. stored: what lies in the store instead of texts."""
        texts = [text.encode() if isinstance(text, str) else text for text in texts]
        chunk = chunk or max(len(texts), 1)
        chunks = {}
        for at in range(0, len(texts), chunk):
            part = texts[at:at + chunk]
            if at // chunk not in missing:
                chunks[str(at // chunk)] = pack(encode(part + [b""] * (chunk - len(part)))) if stored is None else stored
        want = None if width is None else b"".join(text.ljust(width, b"\0") for text in texts)
        document = {"shape": [len(texts)], "chunks": [chunk], "dtype": "|O", "fill_value": None, "filters": [{"id": codec}], **changes}
        ROWS.append(("%03d vlen %s" % (len(ROWS), name), json.dumps({**PLAIN, **document}), attrs and json.dumps(attrs), chunks, want))

    some = ["a", "", "hello", "äö€", "xyz"]
    vlen("measured", some, 7)
    vlen("measured in chunks", some, 7, chunk=2)
    vlen("measured, compressed", some, 7, pack=zlib.compress, compressor={"id": "zlib"})
    vlen("measured, large but well compressed", ["q" * 20] * 60000, 20, pack=zlib.compress, compressor={"id": "zlib"})
    vlen("too large to measure", ["q" * 20] * 60000, 128)
    vlen("too large to measure, longer than strlen", ["q" * 20] * 60000 + ["q" * 129], None)
    for hint, width in ((12, 12), (7, 7), ("12", 12), (0, 7), (-1, 7), (5, None)):
        vlen("said %r" % hint, some, width, attrs={"_nczarr_maxstrlen": hint})
    vlen("empty texts", ["", ""], 1)
    vlen("no texts", [], 1)
    vlen("missing", ["", "", ""], 1, missing=[0])
    vlen("fill", ["fïll"] * 3, 5, missing=[0], fill_value="fïll")
    vlen("long fill", ["ab", "x", "long fill", "long fill"], 9, chunk=2, missing=[1], fill_value="long fill")
    vlen("short fill", ["abcdefgh", "x", "zz", "zz"], 8, chunk=2, missing=[1], fill_value="zz")
    vlen("fill that is not needed", ["ab", "x"], 2, fill_value="a long fill value")
    vlen("fill longer than said, not needed", ["ab", "x"], 4, attrs={"_nczarr_maxstrlen": 4}, fill_value="a long fill value")
    vlen("fill longer than said", ["ab", "x"], None, chunk=1, missing=[1], attrs={"_nczarr_maxstrlen": 4}, fill_value="a long fill value")
    vlen("fill 0", ["", ""], 1, missing=[0], fill_value=0)
    vlen("fill with NUL", ["ab", "a\0c"], 3, chunk=1, missing=[1], fill_value="a\0c")
    vlen("fill that ends in NUL", ["ab", "x"], None, chunk=1, missing=[1], fill_value="abc\0")
    vlen("ends in NUL", ["ab", "cd\0"], None)
    vlen("is NUL", ["ab", "\0"], None)
    vlen("has a NUL", ["ab", "c\0d"], 3)
    vlen("bytes", [b"\xff\xfe", b"", b"abc"], 3, codec="vlen-bytes")
    vlen("bytes' fill", [b"ab", b"ab"], 2, codec="vlen-bytes", missing=[0], fill_value="YWI=")
    good = encode([text.encode() for text in some])
    for name, stored in (("truncated", good[:-1]), ("too few", encode([b"a"])), ("too many", good[:4] + good[4:] * 2), ("bomb", struct.pack("<II", 5, 0xffffffff) + b"abc"), ("tail", good + b"x"), ("empty", b"")):
        vlen(name, some, None, stored=stored)
    for dtype, want in (("<U6", np.array(some, "U6")), ("<U3", None), ("|S7", np.array([text.encode() for text in some], "S7"))):  # zarr-python 3.0 wrote such
        vlen("as " + dtype, some, 1, dtype=dtype, fill_value="")
        ROWS[-1] = ROWS[-1][:4] + (want,)
    square = np.array([["a", "bb", "c"], ["dd", "e", "fff"]])
    stored = encode([text.encode() for text in square.ravel(order="F")])
    vlen("order F", list(square.ravel()), 3, stored=stored, shape=[2, 3], chunks=[2, 3], order="F")
    ROWS[-1] = ROWS[-1][:3] + ({"0.0": stored},) + ROWS[-1][4:]
    vlen("scalar", ["hey"], 3, shape=[], chunks=[])


for part in (spellings, fill_values, dtypes, codecs, shapes, variable_length):
    part()


def make(folder):
    for name, zarray, zattrs, chunks, _ in ROWS:
        files = {".zarray": zarray.encode(), **chunks}
        if zattrs is not None:
            files[".zattrs"] = zattrs.encode()
        for key, value in files.items():
            path = os.path.join(folder, name, key)
            os.makedirs(os.path.dirname(path), exist_ok=True)
            with open(path, "wb") as file:
                file.write(value)


def check(endian, mount):
    at = stores.Check()
    log = os.path.join(mount, ".zarrfs/log")
    for name, *_, want in ROWS:
        path = os.path.join(mount, name)
        if want is None:
            at.error(name, errno.EIO, stores.read, path)
            continue
        try:
            got = stores.read(path)
        except OSError as error:
            at.that(False, "%s: %s" % (name, error))
            continue
        at.bytes(name, got, want if isinstance(want, bytes) else stores.flat(want, {"little": "<", "big": ">"}[endian]))
        at.same("size of " + name, os.stat(path).st_size, len(got))
    refused = [name for name, *_, want in ROWS if want is None]
    lines = stores.read(log).decode(errors="replace")
    for name in refused:
        at.that("'%s'" % name in lines, "the log does not name '%s'" % name)
    print("%d arrays, %d cannot be read, endian=%s" % (len(ROWS), len(refused), endian))
    at.end()


if sys.argv[1] == "make":
    make(sys.argv[2])
else:
    check(*sys.argv[1:])

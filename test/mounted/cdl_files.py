#!/usr/bin/python3
"""cdl_files.py make STORE: odd names and types. words STORE: odder ones. check MNT [FILE]: FILE, or each dataset.cdl below MNT, goes through
ncgen and ncdump -h unchanged."""

import concurrent.futures
import difflib
import os
import re
import subprocess
import sys
import tempfile

import numcodecs
import numpy as np
import zarr

from stores import Check

WORDS = """byte char short int integer long ulong float real double ubyte ushort uint int64 uint64 string opaque enum compound struct structure
    netcdf netCDF NETCDF types dimensions variables data group unlimited UNLIMITED NaN nan NaNf nanf inf inff infinity infinityf Inf Inff Infinity
    Infinityf NIL nil Nil _ _FillValue _Format _Storage _ChunkSizes _Fletcher32 _DeflateLevel _Shuffle _Endianness _NoFill _Codecs _Filter
    _IsNetcdf4 _SuperblockVersion _NCProperties _Netcdf4Dimid _Netcdf4Coordinates 850 1e5 0x1f -1 .5 a:b a;b a"b a'b a\\b a|b a?b a%b ä 日本""".split()
TEXT = {"control": "".join(map(chr, range(128))), "list": ["", "a\nb", '"\\'], "long": "x" * 100000, "slashes/in/it": ["one", "two"]}
NUMBERS = {"int": [-2**31, 2**31 - 1], "uint": 2**32 - 1, "int64": [-2**63, 2**63 - 1], "uint64": 2**64 - 1, "tiny": [5e-324, -2.2250738585072014e-308],
           "specials": [-0.0, float("nan"), float("inf"), -float("inf")], "many": list(range(3000))}
BOTH = np.dtype([("x", "<i2"), ("s", "S3"), ("in", [("t", "<M8[s]"), ("z", "<c8")], (2,))])
NUMBER = re.compile(r"-?\d+\.\d*(e[+-]\d+)?")


def put(group, name, shape, dtype, dims=None, attrs=None, **how):
    array = group.create_dataset(name, shape=shape, dtype=dtype, **{"fill_value": None, **how})
    if dims is not None:
        array.attrs["_ARRAY_DIMENSIONS"] = list(dims)
    array.attrs.update(attrs or {})


def words(store):
    """What CDL might take for something else, as names of everything, and values at the ends of their types."""
    g = zarr.open_group(zarr.DirectoryStore(store), "w")
    g.attrs.update({**TEXT, **NUMBERS})
    for i, word in enumerate(WORDS):
        put(g, word, i + 1, "i2", [word], {word: 1} if word != "_FillValue" else {})
        put(g.require_group("in").create_group(word), "v", i + 1, "i2", [word])
    for kind in "i1 u1 i2 u2 i4 u4 i8 u8".split():
        limits = np.iinfo(kind)
        put(g, kind, 1, kind, None, {"_FillValue": int(limits.min), "valid_range": [int(limits.min), int(limits.max)]})


def make(store):
    g = zarr.open_group(zarr.DirectoryStore(store), "w")
    g.attrs.update({"_FillValue": 1, "history": ""})
    put(g, "x", 2, "i4", ["x"])
    put(g, "float", 2, "u1", ["x"])
    put(g, "2m_temp(K)", 2, ">i2", ["x"],
        {"_FillValue": -9, "valid_range": [-1.0, 1.0], "float": "a\nb \"c\" 'd'", "list": ["one", "two"], "empty": []})
    put(g, "flag", 3, "?", ["x"])
    put(g, "pair", 4, "<c8")
    put(g, "text", 2, "<U4", ["x"])
    put(g, "when", 2, "<M8[h]", ["x"])
    put(g, "both", 2, BOTH, ["x"])
    put(g, "both2", 3, BOTH, ["x"])
    put(g, "no ne", 0, "f8", ["none"])
    g.create_dataset("json", shape=1, dtype=object, object_codec=numcodecs.JSON())
    put(g, "odd", 2, "f8", ["x"])
    with open(store + "/odd/.zarray", "r+", encoding="utf8") as file:
        text = file.read().replace('"<f8"', '"<f16"')
        file.seek(0)
        file.write(text)
    h = g.create_group("g,h")
    put(h.create_group("deep"), "w", (4, 7), "f4", ["x", "x"])
    put(h, "v", (7, 2, 3), "f4", ["x", "x", "x"])


def plain(text):
    """Without what ncdump shows differently: the file's name, lengths of what has no data, comments, digits behind the 6th of floats
    and the 14th of doubles."""
    text = re.sub(r"^netcdf \S+ \{", "netcdf {", text, flags=re.M)
    text = re.sub(r"\(\d+ currently\)", "(N)", text)
    text = "".join(line for line in text.splitlines(True) if not line.strip().startswith("// ") or "attributes" in line)
    text = re.sub(NUMBER.pattern + "f", lambda m: "%.6gf" % float(m[0][:-1]), text)
    return NUMBER.sub(lambda m: "%.14g" % float(m[0]), text)


def round_trip(path):
    with open(path, encoding="utf8", errors="surrogateescape") as file:
        text = file.read()
    with tempfile.TemporaryDirectory() as tmp:
        cdl, nc = os.path.join(tmp, "x.cdl"), os.path.join(tmp, "x.nc")
        with open(cdl, "w", encoding="utf8", errors="surrogateescape") as file:
            file.write(text)
        made = subprocess.run(["ncgen", "-k", "nc4", "-o", nc, cdl], capture_output=True, text=True, check=False)
        if made.returncode:
            return "ncgen says: " + made.stderr
        back = subprocess.run(["ncdump", "-h", nc], capture_output=True, check=False).stdout.decode("utf8", "surrogateescape")
    return "\n".join(difflib.unified_diff(plain(text).splitlines(), plain(back).splitlines(), "cdl", "ncdump", lineterm="", n=0))


def check(mnt, *paths):
    c = Check()
    paths = paths or [os.path.join(folder, "dataset.cdl") for folder, _, _ in os.walk(mnt)]
    paths = [path for path in paths if os.path.exists(path)]
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        for path, difference in zip(paths, pool.map(round_trip, paths)):
            c.that(not difference, "%s:\n%s" % (path, difference))
    print("%d files" % len(paths))
    return c.failed != 0 or not paths


if sys.argv[1] == "check":
    sys.exit(check(*sys.argv[2:]))
{"make": make, "words": words}[sys.argv[1]](sys.argv[2])

"""What edited.sh asks of zarr-python, and of GDAL's answers."""
import json
import os
import sys

import numpy


def check(what, got, want):
    if isinstance(got, numpy.generic):
        got = got.item()
    if got != want:
        sys.exit(f"{what} is {got!r}, not {want!r}")


def fill_v2(path):
    import zarr

    rows = numpy.arange(20).reshape(5, 4)
    g = zarr.open_group(path, mode="r+")
    check("title", g.attrs["title"], 'made "here"')
    check("arrays", sorted(g.array_keys()), ["t2m", "time"])
    check("groups", sorted(g.group_keys()), ["sub"])
    a = g["t2m"]
    check("shape", a.shape, (5, 4))
    check("chunks", a.chunks, (2, 4))
    check("dtype", a.dtype.str, "<f4")
    check("compressor", a.compressor, None)
    shown = {k: v for k, v in a.attrs.items() if not k.startswith("_nczarr")}
    check("attributes", shown, {"_ARRAY_DIMENSIONS": ["time", "x"], "units": "K", "scale": 1.5, "range": [1, 2], "big": 2**64 - 1})
    a[:] = rows
    g["time"][:] = numpy.arange(5)
    packed = g["sub/packed"]
    check("packed", (packed.shape, packed.compressor.codec_id, [f.codec_id for f in packed.filters]), ((5, 4), "zstd", ["shuffle"]))
    packed[:] = rows
    check("read back", zarr.open_group(path, mode="r")["sub/packed"][:].tolist(), rows.tolist())


def fill(top):
    fill_v2(os.path.join(top, "v2.zarr"))
    fill_v2(os.path.join(top, "nczarr.zarr"))
    doc = json.load(open(os.path.join(top, "nczarr.zarr", ".zattrs")))
    check("dimensions", doc["_nczarr_group"]["dimensions"], {"time": {"size": 5, "unlimited": 1}, "x": 4, "y": 2})
    check("arrays", doc["_nczarr_group"]["arrays"], ["time", "t2m"])
    types = json.load(open(os.path.join(top, "nczarr.zarr", "t2m", ".zattrs")))["_nczarr_attr"]["types"]
    check("types", [types[k] for k in ("units", "scale", "range", "big")], [">S1", "<f4", "<i2", "<u8"])
    a = json.load(open(os.path.join(top, "v3.zarr", "t2m", "zarr.json")))
    check("v3", (a["shape"], a["attributes"]["scale"], a["dimension_names"]), ([5, 4], 1.5, ["time", "x"]))


def gdal(path):
    root = json.load(open(path))
    check("GDAL's dimensions", {d["name"]: d["size"] for d in root["dimensions"] if "indexing" not in d.get("type", "")}.get("x"), 4)
    check("GDAL's title", root["attributes"]["title"], 'made "here"')
    a = root["arrays"]["t2m"]
    check("GDAL's unit", a.get("unit"), "K")
    check("GDAL's shape", a["dimension_size"], [5, 4])


def make(path):
    import zarr

    g = zarr.open_group(path, mode="w")
    g.attrs["odd"] = [1, float("nan"), {"deep": None}]
    a = g.create_dataset("a", shape=(4, 2), chunks=(2, 2), dtype="i4", fill_value=7)
    a[:] = 1
    a.attrs["keep"] = 1e300
    g.create_dataset("b", shape=3, dtype="u1")
    g.create_group("g").attrs["x"] = 1
    zarr.consolidate_metadata(path)


def theirs(path):
    import zarr

    for g in (zarr.open_group(path, mode="r"), zarr.open_consolidated(path)):
        check("shape", g["a"].shape, (6, 2))
        check("values", g["a"][:].tolist(), [[1, 1]] * 4 + [[7, 7]] * 2)
        check("attributes", dict(g["a"].attrs), {"keep": 1e300, "units": "m"})
        check("of the group", dict(g["g"].attrs), {"x": 0.1})
        check("of the root", str(g.attrs["odd"]), "[1, nan, {'deep': None}]")
        check("new", (g["g/new"].shape, g["g/new"].dtype.str), ((2,), "<u2"))
        check("names", sorted(g), ["a", "g"])


globals()[sys.argv[1]](*sys.argv[2:])

#!/usr/bin/python3
"""csv_files.py make STORE: variables of all types, with and without coordinates. check STORE MNT: each VAR.csv against the store."""

import csv
import io
import os
import random
import sys

import numcodecs
import numpy as np
import zarr

from stores import Check

X = np.array(["a", "ü€😀", 'c,"c"', "d\ne", " f", ""], "<U5")
TIMES = np.array([0.25, 36524.5, np.nan, -0.5])
AIR = (np.arange(4 * 3 * 6, dtype="f4") / 3).reshape(4, 3, 6)
STRUCT = np.dtype([("a", "<f8"), ("b", ">i2", (2,)), ("s", "S3")])


def put(group, name, values, dims=(), attrs=None, **how):
    array = group.create_dataset(name, data=values, **{"fill_value": None, **how})
    if dims is not None:
        array.attrs["_ARRAY_DIMENSIONS"] = list(dims)
    array.attrs.update(attrs or {})


def make(store):
    g = zarr.open_group(zarr.DirectoryStore(store), "w")
    air = AIR.copy()
    air[0, 0, 2] = np.nan
    put(g, "air", air, ["time", "y", "x"], {"_FillValue": float("nan")}, chunks=(1, 2, 4))
    put(g, "time", TIMES, ["time"], {"units": "days since 2000-01-01"})
    put(g, "y", np.array([10.5, 0.1, -1e-20]), ["y"])
    put(g, "x", X, ["x"])
    put(g, "day", np.array(["2001-02-03", "2001-02-04", "NaT"], "M8[D]"), ["day"])
    put(g, "by_day", np.arange(3, dtype="i8"), ["day"])
    put(g, "stamp", np.array([0, 1234567890123456789, -1], "M8[ns]"), ["stamp"])
    put(g, "by_stamp", np.arange(3, dtype="<f2"), ["stamp"])
    put(g, "run_day", np.array([59, -1, 10**7], "<i4"), ["run_day"], {"units": "days since 2000-01-01", "calendar": "noleap"})
    put(g, "valid", np.array([60.5, np.nan, -1]), ["run_day"], {"units": "days since 2000-01-01", "calendar": "360_day"})
    put(g, "when", np.array(["1969-12-31T23:59:59.5", "NaT", "2001-02-03"], "M8[ms]"), ["run_day"])
    put(g, "ticks", np.zeros(2, [("at", "M8[us]"), ("took", "m8[s]")]), None)
    put(g, "packed", np.array([1, -999, 32767, -32768], ">i2"), ["time"], {"_FillValue": -999, "scale_factor": 0.1})
    put(g, "xr", np.array([1, 0, 2, 3], "u1"), ["time"], fill_value=0)
    put(g, "scalar", np.float64(0.1))
    put(g, "pair", np.array([1 + 2j, -0.5j, np.inf], ">c8"), None)
    put(g, "mixed", np.zeros(4, STRUCT), None)
    put(g, "flag", np.array([True, False, True]), None)
    put(g, "n", np.arange(6, dtype="u4"), ["x"])
    put(g, "odd,name", np.arange(6, dtype="i1"), ["x"])
    put(g, "text", np.array([b"", b"a,b", b'"', b"no\nyes"]), ["time"])
    put(g, "wide", np.array(["é", "ö,\"", "a😀\n", "€€€"], ">U3"), ["time"])
    put(g, "half", np.array([-999, 1.5, 65504, np.nan], ">f2"), ["depth"], {"_FillValue": -999.0})
    put(g, "depth", np.array([-0.0, 1, 0, -1]), ["depth"], {"_FillValue": 0.0})
    put(g, "level", np.array([1, 0x7ff8000000000001, -2**51, 0]).view("f8"), ["level"], {"_FillValue": float("nan")})
    put(g, "by_level", np.array(["ö", "x", "", "ö€"], ">U2"), ["level"], {"_FillValue": "ö"})
    put(g, "far", np.array([2**63 + 1, 2**64 - 1], "u8"), ["far"], {"units": "nanoseconds since 1970-01-01"})
    put(g, "none", np.zeros((0,)), None)
    put(g, "lat", np.arange(6.0).reshape(2, 3), ["lat", "lat_"])
    put(g, "square", np.arange(9.0).reshape(3, 3), ["y", "y"])
    put(g, "bits", np.frombuffer(b"abcdef", "V3"), None)
    put(g, "double", np.array([0.1, 1e300, 5e-324, -2.2250738585072014e-308, 1 / 3, np.nan, -np.inf]), None)
    put(g, "single", np.random.default_rng(1).integers(0, 2**32, 500, dtype="u4").view("f4"), None, chunks=(77,))
    put(g, "long", np.array([0, -2**63, 2**63 - 1]), None)
    text = g.create_dataset("vlen", shape=3, dtype=object, object_codec=numcodecs.VLenUTF8())
    text[:] = ["ä", "", "a,bc"]
    g.create_dataset("json", shape=1, dtype=object, object_codec=numcodecs.JSON())
    big = g.create_dataset("many", shape=(200, 500), dtype="f4", fill_value=None, chunks=(100, 500))
    big[...] = np.arange(100000, dtype="f4").reshape(200, 500) / 7
    long = g.create_dataset("row", shape=650000, dtype="u2", fill_value=7, chunks=100000)
    long.attrs["_ARRAY_DIMENSIONS"] = ["row_number"]
    number = g.create_dataset("row_number", shape=650000, dtype="f8", fill_value=0.5, chunks=100000)
    number.attrs["_ARRAY_DIMENSIONS"] = ["row_number"]


def same_number(text, value):
    got = np.array([float(text.replace("Inf", "inf"))]).astype(value.dtype)[0]
    return got == value or (np.isnan(got) and np.isnan(value))


def leaves(value):
    if value.dtype.fields:
        return [leaf for name in value.dtype.names for item in np.atleast_1d(value[name]).ravel() for leaf in leaves(item)]
    if value.dtype.kind == "c":
        return [value.real, value.imag]
    return [value]


def check_date(c, what, text, value):
    digits = {"ns": "ns", "us": "us", "ms": "ms"}.get(np.datetime_data(value)[0], "s")
    return c.same(what, text, "" if np.isnat(value) else str(value.astype("M8[%s]" % digits)))


def check_field(c, what, text, value, missing):
    if missing is not None and (value == missing or (value != value and missing != missing)):
        return c.same(what, text, "")
    if isinstance(value, str):
        return c.same(what, text, value)
    kind = value.dtype.kind
    if kind == "M":
        return check_date(c, what, text, value)
    if kind == "f":
        return c.that(same_number(text, value), "%s is %s, not %r" % (what, text, value))
    if kind in "SU":
        return c.same(what, text, value.decode() if kind == "S" else str(value))
    if kind == "V":
        return c.same(what, text, "0x" + bytes(value).hex())
    return c.same(what, text, str(int(value.astype("i8") if kind == "m" else value)))


def check_coordinate(c, what, text, array, i):
    value, units = array[i], array.attrs.get("units", "")
    if units.startswith("days since"):
        if np.isnan(value):
            return c.same(what, text, "")
        value = np.datetime64("2000-01-01") + np.timedelta64(int(round(value * 86400)), "s")
    return check_field(c, what, text, value, array.attrs.get("_FillValue"))


def check_array(c, group, name, data):
    array = group[name]
    values = array[...]
    dims = array.attrs.get("_ARRAY_DIMENSIONS", [None] * values.ndim)
    missing = array.attrs.get("_FillValue", array.fill_value if "_ARRAY_DIMENSIONS" in array.attrs and name not in dims else None)
    rows = list(csv.reader(io.StringIO(data.decode(), newline="")))
    c.same("lines of " + name, len(rows), values.size + 1)
    c.same("columns twice in " + name, [column for column in rows[0] if rows[0].count(column) > 1], [])
    step = max(1, values.size // 2000)
    for i in range(0, values.size, step):
        row, at = rows[i + 1], np.unravel_index(i, values.shape)
        what = "%s, element %d" % (name, i)
        c.same(what + ", number", row[0].strip(), str(i))
        if dims == [name]:  # its own coordinate: one column
            c.same(what + ", fields", len(row), 2)
            check_coordinate(c, what, row[1], array, i)
            continue
        for k, dim in enumerate(dims):
            coordinate = group[dim] if dim and dim in group and group[dim].ndim == 1 else None
            if coordinate is not None and "calendar" in coordinate.attrs:
                continue
            if coordinate is None:
                c.same(what + ", index %d" % k, row[1 + k], str(at[k]))
            else:
                check_coordinate(c, what + ", " + dim, row[1 + k], coordinate, at[k])
        value = values[at] if values.ndim else values[()]
        parts = leaves(value) if not isinstance(value, str) else [value]
        c.same(what + ", fields", len(row), 1 + values.ndim + len(parts))
        for text, part in zip(row[1 + values.ndim:], parts):
            check_field(c, what, text, part, missing)
        if c.failed > 20:
            return


def check_parts(c, name, path, data):
    """Lines of one length; any part reads the same as it does in the whole."""
    size, header = os.stat(path).st_size, data.index(b"\n") + 1
    c.same("size of " + name, len(data), size)
    lines = (size - header) // max(1, data[header:].find(b"\n", 0) + 1) if size > header else 0
    rng = random.Random(name)
    with open(path, "rb", buffering=0) as file:
        for _ in range(40):
            off, n = rng.randrange(size + 1), rng.choice([1, 7, 100, 5000])
            c.that(os.pread(file.fileno(), n, off) == data[off:off + n], "%s from %d, %d bytes" % (name, off, n))
    return lines


def check(store, mnt):
    c = Check()
    group = zarr.open_group(store, "r")
    for name, _ in group.arrays():
        if name == "json" or "calendar" in group[name].attrs:  # csv.sh has their dates
            continue
        path = os.path.join(mnt, name + ".csv")
        with open(path, "rb") as file:
            data = file.read()
        check_parts(c, name, path, data)
        check_array(c, group, name, data)
        if group[name].size and b'"' not in data:
            header = data.index(b"\n") + 1
            widths = {len(line) for line in data[header:].split(b"\n")[:-1]}
            c.same("widths of " + name, len(widths), 1)
    return c.failed != 0


if sys.argv[1] == "make":
    make(sys.argv[2])
else:
    sys.exit(check(*sys.argv[2:]))

"""netcdf.py make STORE: variables of every type, with what CF hangs on them
netcdf.py check STORE MNT: what netCDF4-python reads from the netCDF files, against zarr-python"""

import os
import sys

import netCDF4
import numpy as np
import zarr

import stores

NAT = np.iinfo("i8").min
NC_FILL = 9.969209968386869e+36
SHAPE = (4, 5, 6)
FINE, FINE_AT = 1000000, 600003


def dims(*names, **more):
    return {"_ARRAY_DIMENSIONS": list(names), **more}


def put_ocean(store, group, time, **attrs):
    """A curvilinear grid, of which most variables lead with y."""
    for name in ("lat", "lon", "mask", "area"):
        stores.put(store, group + "/" + name, np.arange(20.0).reshape(4, 5), dims("y", "x"))
    stores.put(store, group + "/tos", np.arange(60.0).reshape(3, 4, 5), dims(time, "y", "x", coordinates="lat lon"))
    stores.put(store, "%s/%s" % (group, time), np.arange(3.0), dims(time, **attrs))


RECORDS = {"by_units": "t", "by_axis": "t", "by_name": "t", "by_type": "t", "of_two": "t", "declared": "n", "untold": "y"}  # the dimension that dataset.rec.nc has records of


def make_records(store):
    put_ocean(store, "rec/by_units", "t", units="months since 1850-1-1", calendar="360_day")
    put_ocean(store, "rec/by_axis", "t", axis="T")
    put_ocean(store, "rec/by_name", "t", standard_name="time")
    put_ocean(store, "rec/by_type", "t")
    stores.put(store, "rec/by_type/t", np.arange(3).astype("M8[D]"), dims("t"))
    put_ocean(store, "rec/of_two", "t", standard_name="time", units="days since 2000-01-01")
    for name in ("run", "a", "b"):
        stores.put(store, "rec/of_two/" + name, np.arange(2.0), dims("run", standard_name="forecast_reference_time", units="days since 2000-01-01"))
    put_ocean(store, "rec/declared", "t", standard_name="time")
    stores.put(store, "rec/declared/drops", np.arange(7.0), dims("n", _nczarr_array={"dimension_references": ["/rec/declared/n"]}))
    zarr.open_group(zarr.DirectoryStore(store), path="rec/declared").attrs["_nczarr_group"] = {"dimensions": {"n": {"size": 7, "unlimited": 1}}}
    put_ocean(store, "rec/untold", "t", units="1")


def check_records(check, store, mnt):
    root = zarr.open_group(zarr.DirectoryStore(store), "r")["rec"]
    for group, want in RECORDS.items():
        with read("%s/rec/%s/dataset.rec.nc" % (mnt, group)) as nc:
            check.same("records of " + group, [name for name, d in nc.dimensions.items() if d.isunlimited()], [want])
            for name, array in root[group].arrays():
                behind = want in array.attrs["_ARRAY_DIMENSIONS"][1:]
                check.same("%s in %s" % (name, group), name in nc.variables, not behind)
                if not behind:
                    check_values(check, group, name, nc, array, False)
    with read(mnt + "/rec/by_axis/lat.rec.nc") as nc:
        check.that(nc.dimensions["y"].isunlimited(), "the records of lat.rec.nc are not along its first dimension")


def make(store):
    root = zarr.open_group(zarr.DirectoryStore(store), "w")
    root.attrs.update(title="types", answer=42, large=2 ** 40, larger=2 ** 60 + 1, texts=["a", "bé"], nested={"a": [1, 2.5]}, pi=3.25, some=[1, 2, 3])
    rng = np.random.default_rng(3)
    for name in ("i1", "i2", "i4", "u1", "u2", "u4", "f4", "f8", ">i2", ">u2", ">f4", ">f8", ">u4"):
        t = np.dtype(name)
        if t.kind == "f":
            values = rng.normal(size=SHAPE).astype(t)
        else:
            limit = np.iinfo(t)
            values = rng.integers(limit.min, limit.max, SHAPE, dtype=t.newbyteorder("="), endpoint=True).astype(t)
            values.flat[:2] = limit.min, limit.max
        name = name.replace(">", "be_")
        stores.put(store, name, values, dims("t", "y", "x", units="1", long_name=name), chunks=(2, 3, 4), compressor=stores.ZLIB)
    whole = rng.integers(-2 ** 53, 2 ** 53, SHAPE)
    stores.put(store, "i8", whole, dims("t", "y", "x"), chunks=(2, 3, 4), fill_value=NAT + 2)
    stores.put(store, "u8", abs(whole).astype(">u8"), dims("t", "y", "x"), chunks=(2, 3, 4))
    fine = np.arange(FINE)
    fine[FINE_AT] = 2 ** 53 + 1
    stores.put(store, "few/wide", np.array([1, 2 ** 64 - 1], "u8"), dims("n"), chunks=2, fill_value=0)
    stores.put(store, "few/other", np.arange(2), dims("n"), chunks=2)
    stores.put(store, "few/last", np.arange(3.0), dims("m"), chunks=3)
    stores.put(store, "more/i8_fine", fine, dims("n"), chunks=20000, fill_value=0)
    stores.put(store, "more/i8_few", fine[FINE_AT - 20000:FINE_AT + 1], dims("few"), chunks=1000, fill_value=0)
    stores.put(store, "f2", np.concatenate([np.arange(2 ** 16, dtype="u2").view("f2"), np.arange(64, dtype="f2")]), dims("h"), chunks=1000)
    stores.put(store, "b1", rng.integers(0, 2, SHAPE).astype(bool), dims("t", "y", "x"), chunks=(3, 3, 3))
    stores.put(store, "c8", (rng.normal(size=SHAPE) + 1j * rng.normal(size=SHAPE)).astype("c8"), dims("t", "y", "x"), chunks=(3, 3, 3))
    stores.put(store, "c16", (rng.normal(size=(3, 7)) + 1j * rng.normal(size=(3, 7))).astype(">c16"), chunks=(2, 3))
    stores.put(store, "S5", np.array([b"abc", b"", b"12345", b"\xc3\xa9t"], "S5"), dims("t"), chunks=3)
    stores.put(store, "U5", np.array(["abc", "", "12345", "\u00e9\u6e29\U0001f600"], "U5"), dims("t"), chunks=3)
    stores.put(store, "beU5", np.array(["abc", "", "12345", "\u00e9\u6e29\U0001f600"], ">U5"), dims("t"), chunks=3)
    import numcodecs
    stores.put(store, "marked", np.array([b"abc", b"a"], "S3"), dims("m", _FillValue="a", flag_values="abc"), chunks=2)
    stores.put(store, "marked_c8", np.array([1 + 2j, 1], "c8"), dims("m", _FillValue=1, valid_min=2), chunks=2, fill_value=None)
    vlen = zarr.open_array(zarr.DirectoryStore(store), "w", path="vlen", shape=(4,), dtype=object, object_codec=numcodecs.VLenUTF8(), chunks=2)
    vlen[...] = np.array(["one", "zwölf", "", "x" * 9], object)
    vlen.attrs.update(dims("t"))
    record = np.dtype([("a", "<f4"), ("b", ">i2", (3, 2)), ("s", "S3"), ("in", [("p", "<f8"), ("q", "u1", 2)], 2), ("z", "<c8")])
    table = np.zeros(7, record)
    table.view("u1")[...] = rng.integers(0, 100, table.nbytes)
    table["in"]["p"] = rng.normal(size=(7, 2))
    stores.put(store, "table", table, dims("row"), chunks=3, fill_value=None)
    rows = np.zeros(7, [("a", "<f4"), ("s", "S3"), ("in", [("p", "<f8"), ("q", "u1")]), ("z", "<c8")])
    rows.view("u1")[...] = rng.integers(0, 100, rows.nbytes)
    stores.put(store, "rows", rows, dims("row"), chunks=3, fill_value=None)
    for unit in ("ns", "us", "ms", "s", "m", "h", "D", "W", "M", "Y", "10ms"):
        for kind in "Mm":
            values = rng.integers(-10 ** 6, 10 ** 6, 40) if unit in "WMY" else rng.integers(-10 ** 9, 10 ** 9, 40) if unit in "Dhm" else rng.integers(-2 ** 59, 2 ** 59, 40)
            values[3] = NAT
            values[4] = 0
            stores.put(store, "%s_%s" % (kind, unit), values.view("%s8[%s]" % (kind, unit)), dims("moment"), chunks=9)
    packed = stores.put(store, "packed", rng.integers(0, 60000, SHAPE).astype("u2"), dims("t", "y", "x", scale_factor=0.5, add_offset=1.0,
                        _FillValue=65535, valid_range=[0, 60000], missing_value=-1, flag_values=[1, 2, 3]), chunks=SHAPE)
    assert packed.shape == SHAPE
    stores.put(store, "floatfill", rng.normal(size=SHAPE).astype("f4"), dims("t", "y", "x", _FillValue=1e20, missing_value=1e20, valid_min=-5), chunks=SHAPE)
    stores.put(store, "byfill", rng.normal(size=SHAPE).astype("f4"), dims("t", "y", "x", coordinates="lat2 lon2 nowhere", grid_mapping="crs", cell_measures="area: byfill2"),
               chunks=SHAPE, fill_value=-9)
    stores.put(store, "byfill2", rng.normal(size=SHAPE).astype("f4"), dims("t", "y", "x"), chunks=SHAPE, fill_value=None)
    stores.put(store, "lat2", rng.normal(size=SHAPE[1:]), dims("y", "x", bounds="lat2_b"), chunks=SHAPE[1:], fill_value=0)
    stores.put(store, "lat2_b", rng.normal(size=SHAPE[1:] + (4,)), dims("y", "x", "corner"), chunks=SHAPE[1:] + (4,), fill_value=0)
    stores.put(store, "lon2", rng.normal(size=SHAPE[1:]), dims("y", "x"), chunks=SHAPE[1:], fill_value=0)
    stores.put(store, "crs", np.array(7, "i4"), dims(grid_mapping_name="latitude_longitude"), fill_value=None)
    stores.put(store, "t", np.arange(4.0), dims("t", units="days since 2000-01-01", bounds="t_b"), chunks=4, fill_value=0)
    stores.put(store, "t_b", np.arange(8.0).reshape(4, 2), dims("t", "nv"), chunks=(4, 2), fill_value=0)
    stores.put(store, "y", np.arange(5, dtype="i8"), dims("y"), chunks=5)
    stores.put(store, "scalar", np.array(2.5), dims())
    stores.put(store, "other_x", np.arange(3), dims("x"), chunks=3)
    stores.put(store, "none", np.zeros((4, 2)), chunks=(4, 2))
    stores.put(store, "nothing", np.zeros((0, 3)), dims("never", "k"), chunks=(1, 3))
    stores.put(store, "nothing2", np.zeros((3, 0)), dims("k", "never"), chunks=(3, 1))
    stores.put(store, "absent", np.zeros(SHAPE, "f4"), dims("t", "y", "x"), chunks=(1, 2, 3), fill_value=5)
    for key in ("absent/0.0.0", "absent/1.1.1"):
        os.unlink(os.path.join(store, key))
    stores.put(store, "long/square", np.arange(16.0).reshape(4, 4), dims("t", "t"))
    long = zarr.open_array(zarr.DirectoryStore(store), "w", path="long/wide", shape=2 ** 31, chunks=2 ** 20, dtype="i1", fill_value=7)
    long.attrs.update(dims("w"))
    stores.put(store, "long/" + "%" * 60, np.zeros(2), dims("n" * 300, **{"a" * 300: 1}))
    stores.put(store, "names/x", np.arange(5.0), dims("x"))
    stores.put(store, "names/below/x", np.arange(10.0).reshape(2, 5), dims("y", "x"))
    stores.put(store, "names/below/table", np.ones(3, [("a", "f4")]), dims("n"), fill_value=None)
    stores.put(store, "names/below/table.a", np.arange(30.0), dims("m"))
    stores.put(store, "squares/image", np.arange(64.0 * 64).reshape(64, 64), chunks=(64, 10))
    stores.put(store, "squares/cube", np.arange(216, dtype="i2").reshape(6, 6, 6), chunks=(6, 1, 5))
    stores.put(store, "squares/apart", np.arange(864, dtype="i2").reshape(6, 4, 6, 6))
    stores.put(store, "squares/cov", np.arange(25.0).reshape(5, 5), dims("x", "x"))
    stores.put(store, "squares/pairs", np.arange(8).reshape(4, 2).astype("c16"), dims("complex", "complex"))
    stores.put(store, "squares/x", 10 * np.arange(5.0), dims("x"))
    stores.put(store, "squares/x_2", np.arange(5.0), dims("x_2"))
    stores.put(store, "squares/both", np.arange(125.0).reshape(5, 5, 5), dims("x", "x_2", "x"))
    make_records(store)
    large = zarr.open_array(zarr.DirectoryStore(store), "w", path="large/big", shape=(1024, 1024, 1024), chunks=(1, 1024, 1024), dtype="f4", fill_value=7)
    large.attrs.update(dims("t", "y", "x"))
    stores.put(store, "large/nothing", np.zeros((0, 4)), dims("never", "k"), chunks=(1, 4))
    zarr.consolidate_metadata(zarr.DirectoryStore(store))


DAYS = {"D": 1, "W": 7}
SECONDS = {"ns": (1, 10 ** 9), "us": (1, 10 ** 6), "ms": (1, 1000), "s": (1, 1), "m": (60, 1), "h": (3600, 1)}


def times(values):
    """Times as the file's doubles: nearest to what they are."""
    from fractions import Fraction
    name, count = np.datetime_data(values.dtype)
    raw = values.view("i8")
    out = []
    for value, number in zip(values.ravel(), raw.ravel().tolist()):
        if number == NAT:
            out.append(NC_FILL)
        elif name in SECONDS:
            mul, div = SECONDS[name]
            out.append(float(Fraction(number * count * mul, div)))
        elif name in DAYS:
            out.append(float(number * count * DAYS[name]))
        elif values.dtype.kind == "M":
            out.append(float(value.astype("M8[D]").view("i8")))
        else:
            out.append(float(number))
    return np.array(out).reshape(values.shape)


def whole_times(values):
    """As 64-bit numbers of a unit that netCDF has."""
    name, count = np.datetime_data(values.dtype)
    raw = values.astype(values.dtype.newbyteorder("=")).view("i8")
    if name in "YM" and values.dtype.kind == "M":
        return values.astype("M8[D]").view("i8")
    return np.where(raw == NAT, NAT, raw * count * (7 if name == "W" else 1)).astype("i8").reshape(values.shape)


def chars(values, width):
    """Bytes of texts, padded."""
    if values.dtype.kind == "S":
        texts = values.ravel().tolist()
    else:
        texts = [str(v).encode() for v in values.ravel()]
    data = b"".join(t.ljust(width, b"\0") for t in texts)
    return np.frombuffer(data, "S1").reshape(values.shape + (width,))


def expected(values, cdf5):
    """What the file must hold, for one column."""
    kind, size = values.dtype.kind, values.dtype.itemsize
    if kind == "c":
        return np.stack([values.real, values.imag], -1)
    if kind == "S":
        return chars(values, size) if size > 1 else values.astype("S1")
    if kind == "V":
        return np.frombuffer(values.tobytes(), "i1").reshape(values.shape + (size,))
    if kind == "U":
        return chars(values, size)
    if kind == "O":
        return chars(values, 9)
    if kind == "b":
        return values.astype("i1")
    if kind == "f" and size == 2:
        return values.astype("f4")
    if kind in "Mm":
        return whole_times(values) if cdf5 and np.datetime_data(values.dtype)[0] not in ("ps", "fs", "as") else times(values)
    if not cdf5 and kind in "iu":
        return values.astype({"u1": "i2", "u2": "i4", "u4": "f8", "i8": "f8", "u8": "f8"}.get(values.dtype.str[1:], values.dtype))
    return values


def columns(name, values):
    if values.dtype.fields is None:
        yield name, values
        return
    for field in values.dtype.fields:
        yield from columns("%s.%s" % (name, field), values[field])


def read(path):
    nc = netCDF4.Dataset(path)
    nc.set_auto_maskandscale(False)
    nc.set_auto_chartostring(False)
    return nc


def same_bits(a, b):
    a, b = np.asarray(a), np.asarray(b)
    return a.shape == b.shape and a.astype(a.dtype.newbyteorder("=")).tobytes() == b.astype(a.dtype.newbyteorder("=")).tobytes() and \
        a.dtype.newbyteorder("=") == b.dtype.newbyteorder("=")


def check_values(check, path, name, nc, array, cdf5):
    values = array[...]
    for column, want in columns(name, values):
        if not check.that(column in nc.variables, "%s has no %s" % (path, column)):
            continue
        want = expected(want, cdf5)
        try:
            got = nc.variables[column][...]
        except (RuntimeError, OSError) as error:
            check.that(False, "%s %s: %s" % (path, column, error))
            continue
        if not same_bits(got, want):
            check.that(False, "%s %s: %r, not %r" % (path, column, got.ravel()[:8], want.ravel()[:8]))
            check.same("type of " + column, got.dtype, want.dtype)
            check.same("shape of " + column, got.shape, want.shape)


LEFT_OUT = {"nothing2"}
COMPANIONS = {"t", "y", "t_b"}


def check_order(check, nc):
    sizes = [v.size * v.dtype.itemsize for v in nc.variables.values() if "never" not in v.dimensions]
    check.same("order", sizes, sorted(sizes))


def check_attrs(check, mnt):
    with read(mnt + "/dataset.nc") as nc:
        want = {"title": "types", "answer": 42, "large": float(2 ** 40), "larger": str(2 ** 60 + 1), "texts": "a\nbé", "nested": '{"a": [1, 2.5]}', "pi": 3.25}
        got = nc.__dict__
        for name, value in want.items():
            g = got.get(name)
            check.same("attribute " + name, g.replace("LL", "").replace("\n        ", "").replace("\n    ", "") if name in ("larger",) else g, value) if name != "nested" else None
        check.same("type of answer", got["answer"].dtype, np.dtype("i4"))
        check.same("type of large", got["large"].dtype, np.dtype("f8"))
        check.same("some", got["some"].tolist(), [1, 2, 3])
        p = nc["packed"]
        check.same("packed", p.dtype, np.dtype("i4"))
        for name in ("_FillValue", "valid_range", "flag_values"):
            check.same("type of packed:" + name, p.getncattr(name).dtype, p.dtype)
        check.same("packed:_FillValue", p.getncattr("_FillValue"), 65535)
        check.same("packed:missing_value", p.getncattr("missing_value"), -1)
        f = nc["floatfill"]
        check.same("type of floatfill:_FillValue", f.getncattr("_FillValue").dtype, np.dtype("f4"))
        check.same("floatfill:_FillValue", f.getncattr("_FillValue"), np.float32(1e20))
        v3 = os.getxattr(mnt + "/f4", "user.zarrfs.format") == b"Zarr V3"  # whose fill value marks nothing
        for name, value in ("byfill", np.float32(-9)), ("i8", float(NAT)):
            check.same(name + ":_FillValue", nc[name].__dict__.get("_FillValue"), None if v3 else value)
        for name in ("lat2", "lat2_b", "lon2", "t", "t_b", "byfill2", "crs"):
            check.that("_FillValue" not in nc[name].ncattrs(), "%s has a _FillValue" % name)
        m = nc["M_ns"]
        check.same("M_ns:units", m.units, "seconds since 1970-01-01")
        check.same("M_ns:calendar", m.calendar, "proleptic_gregorian")
        check.same("M_D:units", nc["M_D"].units, "days since 1970-01-01")
        check.same("m_W:units", nc["m_W"].units, "days")
        check.same("m_ns:units", nc["m_ns"].units, "seconds")
        check.same("other_x", nc["other_x"].dimensions, ("x_3",))
        check.same("none", nc["none"].dimensions, ("_Anonymous_Dim_4", "_Anonymous_Dim_2"))
        if not v3:
            check.same("table.b", nc["table.b"].dimensions, ("row", "b_dim0", "b_dim1"))
            check.same("table.in.q", nc["table.in.q"].dimensions, ("row", "in_dim0", "q_dim0"))
        check.same("rows.in.q", nc["rows.in.q"].dimensions, ("row",))
        check.same("rows.z", nc["rows.z"].dimensions, ("row", "complex"))
        check.same("attributes of marked", nc["marked"].ncattrs(), ["flag_values"])
        check.same("attributes of marked_c8", nc["marked_c8"].ncattrs(), [])
        check.same("U5", nc["U5"].dimensions, ("t", "str20"))
        check.same("never", nc.dimensions["never"].isunlimited(), True)
        check_order(check, nc)
    with read(mnt + "/dataset.cdf5.nc") as nc:
        check_order(check, nc)


def check_names(check, mnt):
    """What goes with a file's variables does not take their names."""
    with read(mnt + "/names/below/x.nc") as nc:
        check.same("x of x.nc", nc["x"].dimensions, ("y", "x"))
    with read(mnt + "/names/below/dataset.nc") as nc:
        check.same("x of dataset.nc", nc["x"].dimensions, ("y", "x"))
        check.same("coordinate x", nc["x_2"][...].tolist(), [0, 1, 2, 3, 4])
        check.same("table.a", nc["table.a"].dimensions, ("m",))
        check.same("field a of table", nc["table.a_2"][...].tolist(), [1, 1, 1])


def check_large(check, mnt):
    """Exactly 4 GiB: too large for a file with records too, such as a dimension without elements makes."""
    with read(mnt + "/large/dataset.nc") as nc:
        check.same("variables", list(nc.variables), ["big"])
        check.same("last element", nc["big"][-1, -1, -1], 7)


SQUARES = {
    "image": ("_Anonymous_Dim_64", "_Anonymous_Dim_64_2"),
    "cube": ("_Anonymous_Dim_6", "_Anonymous_Dim_6_2", "_Anonymous_Dim_6_3"),
    "apart": ("_Anonymous_Dim_6", "_Anonymous_Dim_4", "_Anonymous_Dim_6_2", "_Anonymous_Dim_6_3"),
    "cov": ("x", "x_2"),
    "pairs": ("complex", "complex_2", "complex_2_2"),
    "both": ("x", "x_2", "x_2_2"),
}


def check_squares(check, store, mnt):
    """A name stands once in a variable, and goes with one size in a file."""
    import xarray
    root = zarr.open_group(zarr.DirectoryStore(store), "r")["squares"]
    for name, want in SQUARES.items():
        for suffix in (".nc", ".cdf5.nc", ".rec.nc"):
            path = "%s/squares/%s%s" % (mnt, name, suffix)
            with read(path) as nc:
                check.same("dimensions of " + name + suffix, nc[name].dimensions, want)
                check.same("records of " + name + suffix, [d for d in want if nc.dimensions[d].isunlimited()], list(want[:1]) if "rec" in suffix else [])
                check_values(check, name + suffix, name, nc, root[name], False)
        with xarray.open_dataset("%s/squares/%s.nc" % (mnt, name), decode_cf=False) as ds:
            picked = ds[name].isel({want[0]: 1, want[1]: 0})
            if name != "pairs":
                check.same("one of " + name, picked.values.tolist(), root[name][1, 0].tolist())
    with xarray.open_dataset(mnt + "/squares/cov.nc", decode_cf=False) as ds:
        check.same("cov where x is 20", ds["cov"].sel(x=20).values.tolist(), root["cov"][2].tolist())
        check.that("x_2" not in ds.coords, "x_2 of cov has the coordinate of another dimension")
    with read(mnt + "/squares/dataset.nc") as nc:
        for name, dims in {"x": ("x",), "x_2": ("x_2",), **{n: SQUARES[n] for n in ("image", "cube", "apart")}}.items():
            check.same("dimensions of %s in dataset.nc" % name, nc[name].dimensions, dims)
        for name in SQUARES:
            check.same("names of " + name, len(set(nc[name].dimensions)), len(nc[name].dimensions))
            check_values(check, "dataset.nc", name, nc, root[name], False)
        check.that(nc["cov"].dimensions[1] != "x_2", "cov has the coordinate x_2 in dataset.nc")


def check_companions(check, mnt):
    with read(mnt + "/byfill.nc") as nc:
        check.same("byfill.nc", set(nc.variables), {"t", "y", "t_b", "lat2", "lat2_b", "lon2", "crs", "byfill"})
        check.same("last", list(nc.variables)[-1], "byfill")
        check.same("format", nc.data_model, "NETCDF3_CLASSIC")
        check.same("title", nc.title, "types")
    with read(mnt + "/byfill.rec.nc") as nc:
        check.that(nc.dimensions["t"].isunlimited(), "t has no records")
        check.same("byfill.rec.nc", set(nc.variables), {"t", "y", "t_b", "lat2", "lat2_b", "lon2", "crs", "byfill"})
    with read(mnt + "/byfill.cdf5.nc") as nc:
        check.same("format", nc.data_model, "NETCDF3_64BIT_DATA")


def read_until_error(path):
    """What the kernel keeps of a file: all before what cannot be read, whatever the size of a reader's blocks."""
    with open(path, "rb", buffering=0) as file:
        try:
            while file.read(100000):
                pass
        except OSError:
            pass


def is_refused(check, what, variable, first, last):
    try:
        got = variable[first:last]
        check.that(False, "%s: an int64 was rounded, or what lies beside it was lost: %r" % (what, got[-6:]))
    except (RuntimeError, OSError):
        pass


def check_fine(check, mnt):
    """One element that a double cannot hold costs its block, or all of a small variable; what is beside it is never shown as zeros."""
    for name in ("i8_fine.nc", "i8_fine.rec.nc"):
        for first in (30003, 9000, 6000, 1000, 6):
            with read("%s/more/%s" % (mnt, name)) as nc:
                is_refused(check, "%s from %d" % (name, first), nc["i8_fine"], FINE_AT - first, FINE_AT + 7)
                read_until_error("%s/more/%s" % (mnt, name))
        with read("%s/more/%s" % (mnt, name)) as nc:
            v = nc["i8_fine"]
            check.that((v[:20000] == np.arange(20000)).all(), name + ": elements before")
            check.that((v[FINE_AT + 40000:FINE_AT + 50000] == np.arange(FINE_AT + 40000, FINE_AT + 50000)).all(), name + ": elements behind")
    with read(mnt + "/more/i8_few.nc") as nc:
        is_refused(check, "i8_few", nc["i8_few"], 0, 20000)
    with read(mnt + "/few/dataset.nc") as nc:
        check.same("other", nc["other"][...].tolist(), [0, 1])
        check.same("last", nc["last"][...].tolist(), [0, 1, 2])
        try:
            check.that(False, "a uint64 was rounded: %r" % nc["wide"][...])
        except (RuntimeError, OSError):
            pass
    with read(mnt + "/more/i8_fine.cdf5.nc") as nc:
        check.same("element", nc["i8_fine"][FINE_AT], 2 ** 53 + 1)


def compare(store, mnt):
    check = stores.Check()
    root = zarr.open_group(zarr.DirectoryStore(store), "r")
    with read(mnt + "/dataset.nc") as nc, read(mnt + "/dataset.cdf5.nc") as five, read(mnt + "/dataset.rec.nc") as rec:
        check.same("format", nc.data_model, "NETCDF3_CLASSIC")
        check.same("format of cdf5", five.data_model, "NETCDF3_64BIT_DATA")
        for name, array in root.arrays():
            if name in LEFT_OUT:
                check.that(name not in nc.variables, name + " is in dataset.nc")
                continue
            check_values(check, "dataset.nc", name, nc, array, False)
            check_values(check, "dataset.cdf5.nc", name, five, array, True)
            if name != "nothing":
                check_values(check, "dataset.rec.nc", name, rec, array, False)
            with read("%s/%s.nc" % (mnt, name)) as own:
                check_values(check, name + ".nc", name, own, array, False)
            with read("%s/%s.cdf5.nc" % (mnt, name)) as own:
                check_values(check, name + ".cdf5.nc", name, own, array, True)
            if array.shape:
                with read("%s/%s.rec.nc" % (mnt, name)) as own:
                    check_values(check, name + ".rec.nc", name, own, array, False)
    for name in ("nothing2.nc", "scalar.rec.nc"):
        check.that(not os.path.exists(os.path.join(mnt, name)), name + " is there")
    listed = set(os.listdir(mnt))
    for name in ("f4.nc", "i8.nc", "rows.nc", "nothing.nc", "vlen.nc"):
        check.that(name in listed, name + " is not listed")
    for name in ("t.nc", "t_b.nc", "lat2.nc", "crs.nc", "y.nc", "nothing2.nc", "dataset.nc", "f4.cdf5.nc"):
        check.that(name not in listed, name + " is listed")
    check_fine(check, mnt)
    check_attrs(check, mnt)
    check_companions(check, mnt)
    check_names(check, mnt)
    check_large(check, mnt)
    check_squares(check, store, mnt)
    check_records(check, store, mnt)
    return check.failed


if __name__ == "__main__":
    if sys.argv[1] == "make":
        make(sys.argv[2])
    else:
        sys.exit(compare(sys.argv[2], sys.argv[3]) != 0)

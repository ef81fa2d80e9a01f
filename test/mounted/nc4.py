"""nc4.py make STORE: variables of every type, and groups that share dimensions
nc4.py check STORE MNT: what netCDF4-python, h5py and xarray (those of them that are there) read from the netCDF-4 files, against zarr-python
nc4.py equal STORE FILE VARIABLE...: copies that tools have made have the variables' values"""

import ctypes
import os
import sys

import netCDF4
import numpy as np
import zarr

import netcdf
import stores

try:
    import h5py
except ImportError:
    h5py = None

SHAPE = (3, 4, 5)
COUNT = int(np.prod(SHAPE))
LONG = "a long text, " * 8000
NUMBERS = [order + kind for kind in ("i2", "i4", "i8", "u2", "u4", "u8", "f4", "f8") for order in "<>"] + ["i1", "u1"]
TIMES = [("us10", "<M8[10us]"), ("h3", ">m8[3h]"), ("weeks", "<M8[W]"), ("years", ">M8[Y]"), ("spans", "<m8[5M]")]
RECORD = np.dtype([("a", ">i4"), ("b", [("x", "<f8"), ("n", "S3")]), ("v", "<u2", (2,))])


def dims(*names, **more):
    return {"_ARRAY_DIMENSIONS": list(names), **more}


def numbers(dtype):
    """From the least to the most that the type holds."""
    dtype = np.dtype(dtype)
    if dtype.kind == "f":
        values = np.linspace(-1e4, 1e4, COUNT)
        values[7:10] = np.nan, np.inf, -np.inf
        return values.astype(dtype).reshape(SHAPE)
    info = np.iinfo(dtype)
    return np.array([info.min + k if k % 2 else info.max - k for k in range(COUNT)], dtype).reshape(SHAPE)


def name_of(dtype):
    return dtype.replace("<", "le_").replace(">", "be_")


def make_types(store):
    for dtype in NUMBERS:
        values = numbers(dtype)
        stores.put(store, name_of(dtype), values, dims("t", "y", "x", missing_value=values.ravel()[0].item(), units="1"), chunks=(2, 3, 2), compressor=stores.ZLIB, fill_value=None)
    more = {"f2": numbers("<f2"), "be_f2": numbers(">f2"), "bool": numbers("i1") > 0, "c8": numbers("<f4") + 1j * np.arange(COUNT).reshape(SHAPE).astype("f4"),
            "c16": (numbers(">f8") * (1 - 2j)).astype(">c16"), "S4": np.array([b"%d" % k for k in range(COUNT)], "S4").reshape(SHAPE),
            "U3": np.array(["\u00e9%d" % (k % 100) for k in range(COUNT)], "<U3").reshape(SHAPE), "V5": np.arange(5 * COUNT).astype("u1").view("V5").reshape(SHAPE)}
    for name, values in more.items():
        stores.put(store, name, values, dims("t", "y", "x"), chunks=(2, 3, 2), compressor=stores.ZLIB, fill_value=None)
    times = np.arange(COUNT).astype("M8[ms]").reshape(SHAPE)
    times[0, 0, 1] = "NaT"
    stores.put(store, "when", times, dims("t", "y", "x"), fill_value=None)
    for name, dtype in TIMES:
        values = (np.arange(COUNT) * 7919 - 99999).astype(dtype).reshape(SHAPE)
        values[0, 0, 1] = "NaT"
        stores.put(store, name, values, dims("t", "y", "x"), chunks=(2, 3, 2), fill_value=None)
    rounded = np.array([1.23456, 2.3, -0.1, 1e-3, 7.7], "f4")
    stores.put(store, "rounded", rounded, dims("x", _QuantizeBitGroomNumberOfSignificantDigits=3, comment="of what it was made of"), fill_value=None)
    stores.put(store, "span", np.arange(COUNT).astype("m8[h]").reshape(SHAPE), dims("t", "y", "x"), fill_value=None)
    records = np.zeros(4, RECORD)
    records["a"], records["b"]["x"], records["b"]["n"], records["v"] = np.arange(4) - 2, np.arange(4) / 3, [b"a", b"bc", b"", b"def"], np.arange(8).reshape(4, 2)
    stores.put(store, "record", records, dims("y"), fill_value=None)
    stores.put(store, "scalar", np.array(7, "<i8"), dims(list=["one", "", "drei \u2153"], big=2 ** 53 + 1, reals=[0.5, 1.5], long=LONG, empty=""), fill_value=None)
    stores.put(store, "filled", np.arange(5, dtype=">u2"), dims("x", _FillValue=3), fill_value=3)
    stores.put(store, "nothing", np.zeros((0, 4)), dims("n", "y"))
    stores.put(store, "behind", np.zeros((4, 0), "i2"), dims("y", "n"))
    for name, values in {"t": np.arange(3.0), "y": np.arange(4, dtype=">f4"), "x": np.arange(5, dtype="<i8")}.items():
        stores.put(store, name, values, dims(name, axis=name.upper()), fill_value=None)


def make_groups(store):
    """b has dimensions of what is above it, and its own x; c has nothing; d/e has none of its own."""
    stores.put(store, "a/x", np.arange(6.0), dims("x"))
    stores.put(store, "a/y", np.array(["one", "two", "six"], "S3"), dims("y"))
    stores.put(store, "a/v", np.arange(18, dtype="<i4").reshape(6, 3), dims("x", "y"))
    stores.put(store, "a/z", np.arange(18, dtype="<i2").reshape(6, 3), dims("x", "y"))
    stores.put(store, "a/b/x", np.arange(6) * 10.0, dims("x"))
    stores.put(store, "a/b/v", np.arange(18, dtype=">i4").reshape(6, 3) + 100, dims("x", "y"))
    stores.put(store, "a/b/w", np.arange(14, dtype="<u8").reshape(7, 2), dims("x", "z"))
    stores.put(store, "a/d/e/deep", np.arange(6, dtype="i1"), dims("x"))
    root = zarr.open_group(zarr.DirectoryStore(store))
    root.require_group("a/c").attrs["comment"] = ["nothing", "here"]
    root["a/b"].attrs.update(title="b", CLASS="kept out of variables only")


def make(store):
    make_types(store)
    make_groups(store)
    stores.put(store, "rec/time", np.arange(4) * 6, dims("time", units="hours since 2000-01-01"), dtype="<i4")
    stores.put(store, "rec/r", np.arange(4 * 30, dtype="<f4").reshape(4, 5, 6), dims("time", "lat", "lon"), chunks=(1, 5, 6))
    stores.put(store, "rec/lat", np.arange(5.0), dims("lat"))
    stores.put(store, "none/gap", np.zeros((4, 70000, 0, 70000), "f4"), dims("time", "p", "n", "q"), chunks=(1, 7, 1, 7))
    stores.put(store, "none/deep", np.zeros((1,) * 32, "S2"), dims(*("d%d" % k for k in range(32))))
    stores.put(store, "rec/large", np.arange(3 << 16, dtype="<f8").reshape(3, 1 << 16), dims("time3", "cell"), chunks=(1, 1 << 16))


def wanted(values):
    """As netCDF-4 has them: dtype and bytes, the last dimension for what elements are made of."""
    kind = values.dtype.kind
    if kind == "b":
        return values.astype("i1")
    if kind == "f" and values.dtype.itemsize == 2:
        return values.astype("f4")
    if kind == "c":
        half = values.dtype.str.replace("c8", "f4").replace("c16", "f8")
        return np.ascontiguousarray(values).view(half).reshape(values.shape + (2,))
    if kind == "U":
        width = values.dtype.itemsize
        return np.char.encode(values, "utf8").astype("S%d" % width).reshape(-1).view("S1").reshape(values.shape + (width,))
    if kind == "S" and values.dtype.itemsize > 1:
        return np.ascontiguousarray(values).reshape(-1).view("S1").reshape(values.shape + (values.dtype.itemsize,))
    if kind == "V":
        return np.ascontiguousarray(values).reshape(-1).view("u1").reshape(values.shape + (values.dtype.itemsize,))
    return netcdf.whole_times(values) if kind in "mM" else values


def native(values):
    return values.astype(values.dtype.newbyteorder("="))


def open_raw(path):
    nc = netCDF4.Dataset(path)
    nc.set_auto_maskandscale(False)
    nc.set_auto_chartostring(False)
    return nc


def check_values(check, what, got, want):
    want = native(want)
    check.same("type of " + what, native(got).dtype, want.dtype)
    check.same("shape of " + what, got.shape, want.shape)
    check.bytes("values of " + what, native(got).tobytes(), want.tobytes())


def check_hdf5(check, path, name, want):
    if not h5py:
        return
    with h5py.File(path) as h5:
        data = h5[name]
        check_values(check, "%s with h5py" % path, data[...] if want.size else np.zeros(data.shape, data.dtype), want)
        if want.dtype.kind in "iu" and want.dtype.itemsize > 1 and want.size and name not in dict(TIMES):
            check.same("order of bytes of " + path, data.dtype.str, want.dtype.str)
        check.same("dimensions of %s with h5py" % path, [[s.name.rsplit("/", 1)[1] for s in d.values()] for d in data.dims], [[d] for d in data_dims(path, name)])


def data_dims(path, name):
    with open_raw(path) as nc:
        v = nc[name]
        return [] if v.dimensions[:1] == (name,) else list(v.dimensions)


def check_times(check, mnt):
    for (name, _), units in zip(TIMES, ("microseconds since 1970-01-01", "hours", "days since 1970-01-01", "days since 1970-01-01", "months")):
        with open_raw("%s/%s.nc4" % (mnt, name)) as nc:
            check.same("units of " + name, nc[name].units, units)
            check.same("NaT of " + name, nc[name]._FillValue, np.iinfo("i8").min)


def check_rounded(check, root, mnt):
    """libnetcdf would round numbers of a variable with such an attribute when it makes doubles of them."""
    lib = ctypes.CDLL(netCDF4._netCDF4.__file__)
    file, variable, got = ctypes.c_int(), ctypes.c_int(), (ctypes.c_double * 5)()
    check.same("nc_open", lib.nc_open((mnt + "/rounded.nc4").encode(), 0, ctypes.byref(file)), 0)
    check.same("nc_inq_varid", lib.nc_inq_varid(file, b"rounded", ctypes.byref(variable)), 0)
    check.same("nc_get_var_double", lib.nc_get_var_double(file, variable, got), 0)
    check.same("numbers as doubles", list(got), root["rounded"][...].astype("f8").tolist())
    lib.nc_close(file)
    with open_raw(mnt + "/rounded.nc4") as nc:
        check.same("the attribute beside", nc["rounded"].comment, "of what it was made of")


def check_types(check, root, mnt):
    skipped = ("record", "t", "y", "x")
    for name, array in root.arrays():
        if name in skipped:
            continue
        path, want = "%s/%s.nc4" % (mnt, name), wanted(array[...])
        with open_raw(path) as nc:
            v = nc[name]
            check.same("kind of " + path, nc.data_model, "NETCDF4")
            check_values(check, path, v[...], want)
            for k, dim in enumerate(array.attrs["_ARRAY_DIMENSIONS"]):
                check.same("dimension of " + path, v.dimensions[k], dim)
                if dim in "tyx":
                    check_values(check, "%s in %s" % (dim, path), nc[dim][...], root[dim][...])
            if name in map(name_of, NUMBERS):
                check.same("missing value of " + path, v.missing_value.tobytes() if v.missing_value == v.missing_value else 0, native(want).ravel()[:1].tobytes())
            check.that("_Encoding" not in v.ncattrs(), "netCDF4-python 1.6 would read other texts from " + path)
        if want.dtype == "S1":
            with netCDF4.Dataset(path) as nc:  # with all that it does by itself
                check_values(check, "texts of " + path, np.ma.filled(nc[name][...], b""), want)
        check_hdf5(check, path, name, want)
    with netCDF4.Dataset(mnt + "/filled.nc4") as nc:
        check.same("what is missing in filled.nc4", np.ma.getmaskarray(nc["filled"][...]).tolist(), [False, False, False, True, False])
    with open_raw(mnt + "/when.nc4") as nc:
        check.same("units of when.nc4", nc["when"].units, "milliseconds since 1970-01-01")
        check.same("NaT of when.nc4", nc["when"]._FillValue, np.iinfo("i8").min)
    check_times(check, mnt)
    check_rounded(check, root, mnt)
    with open_raw(mnt + "/scalar.nc4") as nc:
        v = nc["scalar"]
        check.same("attributes of scalar.nc4", [v.list, v.big, v.reals.tolist(), v.long == LONG, v.empty], [["one", "", "drei \u2153"], 2 ** 53 + 1, [0.5, 1.5], True, ""])
    with open_raw(mnt + "/record.nc4") as nc:
        values = root["record"][...]
        check_values(check, "record.a", nc["record.a"][...], values["a"])
        check_values(check, "record.b.x", nc["record.b.x"][...], values["b"]["x"])
        check_values(check, "record.b.n", nc["record.b.n"][...], wanted(values["b"]["n"]))
        check_values(check, "record.v", nc["record.v"][...], values["v"])


def where(variable, k):
    return "%s:%s" % (variable.get_dims()[k].group().path, variable.dimensions[k])


def check_groups(check, root, mnt):
    with open_raw(mnt + "/a/dataset.nc4") as nc:
        check.same("groups of a", [g for g in nc.groups], ["b", "c", "d"])
        for path in ("x", "v", "z", "b/x", "b/v", "b/w", "d/e/deep"):
            check_values(check, path, nc[path][...], root["a"][path][...])
        for path, want in {"v": ["/:x", "/:y"], "b/v": ["/b:x", "/:y"], "b/w": ["/b:x_7", "/b:z"], "d/e/deep": ["/:x"], "b/x": ["/b:x"]}.items():
            check.same("dimensions of " + path, [where(nc[path], k) for k in range(nc[path].ndim)], want)
        check.same("attribute of an empty group", nc["c"].comment, ["nothing", "here"])
        check.same("title of b", nc["b"].title, "b")
    with open_raw(mnt + "/a/b/dataset.nc4") as nc:  # what it has from above comes with it
        check.same("variables of b", sorted(nc.variables), ["v", "w", "x", "y"])
        check_values(check, "y in b", nc["y"][...], wanted(root["a/y"][...]))
    with open_raw(mnt + "/a/c/dataset.nc4") as nc:
        check.same("variables of c", list(nc.variables), [])
    with open_raw(mnt + "/dataset.nc4") as nc:
        check_values(check, "a/b/v of all", nc["a/b/v"][...], root["a/b/v"][...])
    if h5py:
        with h5py.File(mnt + "/a/dataset.nc4") as h5:
            check.same("scales of b/v", [d.values()[0].name for d in h5["b/v"].dims], ["/b/x", "/y"])
            check.same("users of y", len(h5["y"].attrs.get("REFERENCE_LIST", [])), 0 if "DIMENSION_LIST" in h5["y"].attrs else 3)


def check_records(check, root, mnt):
    for path in ("rec/r.rec.nc4", "rec/dataset.rec.nc4"):
        with open_raw("%s/%s" % (mnt, path)) as nc:
            check.same("what has no limit in " + path, [n for n, d in nc.dimensions.items() if d.isunlimited()], ["time"])
            check_values(check, "r in " + path, nc["r"][...], root["rec/r"][...])
            check_values(check, "time in " + path, nc["time"][...], root["rec/time"][...])
            check.same("chunks of r", nc["r"].chunking(), [4, 5, 6])
            check.same("chunks of lat", nc["lat"].chunking() if "lat" in nc.variables else "contiguous", "contiguous")
    with open_raw(mnt + "/none/gap.rec.nc4") as nc:  # chunks of so many elements would have more than 4 GiB
        check.same("shape of gap", nc["gap"].shape, (4, 70000, 0, 70000))
    with open_raw(mnt + "/none/dataset.nc4") as nc:  # a text has a dimension more, and HDF5 32 at most
        check.same("variables of none", list(nc.variables), ["gap"])
    check.that(not os.path.exists(mnt + "/none/deep.nc4"), "there is a deep.nc4, with 33 dimensions")
    with open_raw(mnt + "/rec/large.rec.nc4") as nc:
        check.same("chunks of large", nc["large"].chunking(), [129, 1 << 16])
        check_values(check, "large", nc["large"][...], root["rec/large"][...])
    check_hdf5(check, mnt + "/rec/large.rec.nc4", "large", root["rec/large"][...])


def check_xarray(check, root, mnt):
    try:
        import xarray
    except ImportError:
        return
    for engine in ("netcdf4", "h5netcdf"):
        if engine not in xarray.backends.list_engines():
            continue
        with xarray.open_dataset(mnt + "/U3.nc4", engine=engine) as d:
            check.that((np.char.decode(d["U3"].values, "utf8") == root["U3"][...]).all(), "xarray (%s) reads other texts" % engine)
        with xarray.open_dataset(mnt + "/be_f8.nc4", engine=engine) as d:
            check.that(np.array_equal(d["be_f8"].values, np.where(root["be_f8"][...] == root["be_f8"][0, 0, 0], np.nan, root["be_f8"][...]), equal_nan=True), "xarray (%s) reads other values" % engine)
            check.same("coordinates with xarray (%s)" % engine, sorted(d.coords), ["t", "x", "y"])
        with xarray.open_dataset(mnt + "/a/dataset.nc4", engine=engine, group="b") as d:
            check.that((d["v"].values == root["a/b/v"][...]).all(), "xarray (%s) reads other values of a group" % engine)


def equal(store, *copies):
    check = stores.Check()
    for path, name in zip(copies[::2], copies[1::2]):
        nc = open_raw(path)
        check_values(check, "%s in %s" % (name, path), nc[name.rsplit("/", 1)[-1]][...], wanted(zarr.open_array(zarr.DirectoryStore(store), "r", path=name)[...]))
    check.end()


def check_all(store, mnt):
    check, root = stores.Check(), zarr.open_group(zarr.DirectoryStore(store), "r")
    check_types(check, root, mnt)
    check_groups(check, root, mnt)
    check_records(check, root, mnt)
    check_xarray(check, root, mnt)
    check.end()


if __name__ == "__main__":
    {"make": make, "equal": equal, "check": check_all}[sys.argv[1]](*sys.argv[2:])

"""nc_write.py make STORE GROUP...: groups of variables of several types
nc_write.py same FILE FILE: do two netCDF files hold the same, wherever it lies?
nc_write.py CASE FILE: writes to a netCDF file as a program would"""

import sys

import numpy as np


def make(store, *groups):
    import stores

    stores.group(store, {})
    for name in groups:
        stores.group(store, {"title": "one"}, name)

        def add(n, a, dims, chunks, **attrs):
            stores.put(store, name + "/" + n, a, {"_ARRAY_DIMENSIONS": dims, **attrs}, chunks=chunks, fill_value=None)

        add("x", np.arange(30, dtype="f4"), ["x"], (30,), units="m")
        add("y", np.arange(20, dtype="f8"), ["y"], (20,), units="m")
        add("time", np.arange(12, dtype="i8"), ["time"], (5,), units="days since 2000-01-01")
        t = np.arange(12 * 20 * 30, dtype="f4").reshape(12, 20, 30)
        add("t", t, ["time", "y", "x"], (5, 7, 11), units="K", long_name="temperature")
        b = (np.arange(12 * 20) % 250).astype("u1").reshape(12, 20)
        add("b", b, ["time", "y"], (5, 7), units="1")
    stores.consolidate(store)


def make_times(store, name):
    import stores

    stores.group(store, {}, name)
    when = (1700000000000 + np.arange(5)).astype("M8[ms]")
    stores.put(store, name + "/when", when, {"_ARRAY_DIMENSIONS": ["n"]}, chunks=(5,), fill_value=None)
    stores.consolidate(store)


def in_doubles(path, to, units):
    import netCDF4

    with netCDF4.Dataset(path) as was, netCDF4.Dataset(to, "w", format="NETCDF3_64BIT_DATA") as now:
        assert was["when"].dtype == "i8" and was["when"].units == units, was["when"]
        now.createDimension("n", 5)
        when = now.createVariable("when", "f8", ("n",))
        when.units, when.calendar = units, "proleptic_gregorian"
        when[:] = was["when"][:]


def stored(store):
    """u of the group empty, as zarr-python has it, or of V3 what lies there."""
    import stores

    assert (stores.values(store, "empty/u") == stores.values(store, "empty/t")).all()
    if stores.FORM == "v2":
        import zarr

        u = zarr.open_group(store, mode="r")["empty/u"]
        assert u.attrs["note"] == "more" and u.compressor.codec_id == "zlib" and u.nchunks in range(2, 20), u.info


def load(path):
    import netCDF4

    with netCDF4.Dataset(path) as d:
        d.set_auto_mask(False)
        d.set_auto_scale(False)
        found = {"dimensions": {k: len(v) for k, v in d.dimensions.items()}}
        found["attributes"] = {k: d.getncattr(k) for k in d.ncattrs() if k != "history"}
        for n, v in d.variables.items():
            found["variable " + n] = (v.dtype, v.dimensions, {k: v.getncattr(k) for k in v.ncattrs()}, v[...])
    return found


def equal(a, b):
    if isinstance(a, dict):
        return a.keys() == b.keys() and all(equal(a[k], b[k]) for k in a)
    if isinstance(a, tuple):
        return len(a) == len(b) and all(map(equal, a, b))
    if isinstance(a, np.ndarray):
        return np.array_equal(a, b)
    return type(a) is type(b) and a == b


def same(one, other):
    a, b = load(one), load(other)
    bad = [k for k in sorted(set(a) | set(b)) if k not in a or k not in b or not equal(a[k], b[k])]
    for k in bad:
        print(f"{k}: {str(a.get(k))[:400]}\nnot {str(b.get(k))[:400]}")
    return 1 if bad else 0


def values(path):
    import netCDF4

    with netCDF4.Dataset(path, "r+") as d:
        d["b"][3, 4:9] = [1, 2, 3, 4, 5]
        d["b"].units = "kg"


def slab(path):
    import netCDF4

    with netCDF4.Dataset(path, "a") as d:
        d["t"][:, 2, 3] = np.arange(12) * 10


def records(path):
    import netCDF4

    with netCDF4.Dataset(path, "r+") as d:
        n = len(d.dimensions["time"])
        d["t"][n : n + 2, :, :] = 5
        d["time"][n : n + 2] = [77, 78]


def synced(path):
    import netCDF4

    with netCDF4.Dataset(path, "r+") as d:
        d["t"][0, 0, 0] = 1
        d.sync()
        d.note = "x"
        d.sync()
        d["t"][0, 0, 1] = 2


def mapped(path):
    import errno
    import os

    shape = (12, 20, 30)
    behind = os.path.getsize(path) - 4 * int(np.prod(shape))
    try:
        m = np.memmap(path, ">f4", "r+", offset=behind, shape=shape)
        m[3, 4, 5] = 99
        m.flush()
    except OSError as e:  # before Linux 6.6
        if e.errno != errno.ENODEV:
            raise
        with open(path, "r+b") as f:
            f.seek(behind + 4 * ((3 * 20 + 4) * 30 + 5))
            f.write(np.array(99, dtype=">f4").tobytes())


def by_scipy(path):
    import scipy.io

    f = scipy.io.netcdf_file(path, "a", mmap=False)
    f.variables["t"][2, 3, 4] = 5
    f.variables["t"].units = b"C"
    f.close()


def by_xarray(path):
    import xarray

    d = xarray.open_dataset(path, decode_cf=False).load()
    d.close()
    d["t"] = d["t"] + 1
    d[["t"]].to_netcdf(path, mode="a", engine="netcdf4", format="NETCDF3_CLASSIC")


def by_xarray_anew(path):
    import xarray

    d = xarray.open_dataset(path, decode_cf=False).load()
    d.close()
    d["t"] = d["t"] * 2
    none = {name: {"_FillValue": None} for name in d.variables}  # else NaN, which coordinates are not shown with
    d.to_netcdf(path, mode="w", engine="netcdf4", format="NETCDF3_64BIT", encoding=none)


def not_a_float(path):
    import xarray

    d = xarray.open_dataset(path, decode_cf=False).load()
    d.close()
    d["t"] = d["t"].astype("f8") + 0.1
    d.to_netcdf(path, mode="w", engine="netcdf4", format="NETCDF3_64BIT")


def too_large(path):
    """300 is no byte: the program must hear of it."""
    import netCDF4

    try:
        with netCDF4.Dataset(path, "r+") as d:
            d["b"][3, 4] = 300
            d.sync()
    except (OSError, RuntimeError) as e:
        print(e)
        return 0
    return 1


if __name__ == "__main__":
    sys.exit(globals()[sys.argv[1]](*sys.argv[2:]))

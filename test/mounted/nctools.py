"""nctools.py make FOLDER: FOLDER/a.zarr, a field with coordinates; b.zarr, the same in later times; huge.zarr, 5 TB of which little is there
nctools.py check FOLDER A-MNT: scipy, numpy and xarray on what is mounted
nctools.py huge MNT
nctools.py same FILE VARIABLE FOLDER FROM TO|mean: what a tool made of time steps FROM..TO"""

import os
import sys

import netCDF4
import numpy as np
import zarr

import stores

SHAPE = (24, 361, 480)
HUGE = 1320000


def coordinates(store, times, first, shape):
    lat, lon = np.linspace(90, -90, shape[1]), np.arange(shape[2]) * 360.0 / shape[2]
    stores.put(store, "time", first + np.arange(float(times)), {"_ARRAY_DIMENSIONS": ["time"], "units": "hours since 2000-01-01", "calendar": "standard",
               "standard_name": "time"}, chunks=200000, compressor=stores.ZLIB)
    stores.put(store, "lat", lat, {"_ARRAY_DIMENSIONS": ["lat"], "units": "degrees_north", "standard_name": "latitude"}, chunks=lat.size)
    stores.put(store, "lon", lon, {"_ARRAY_DIMENSIONS": ["lon"], "units": "degrees_east", "standard_name": "longitude"}, chunks=lon.size)


def values(which):
    return stores.field(SHAPE, "f4", which + 1)


def make(folder):
    for which, name in enumerate("ab"):
        store = os.path.join(folder, name + ".zarr")
        zarr.open_group(zarr.DirectoryStore(store), "w").attrs["Conventions"] = "CF-1.8"
        coordinates(store, SHAPE[0], which * SHAPE[0], SHAPE)
        for variable in ("t", "u"):
            stores.put(store, variable, values(which) + (variable == "u"), {"_ARRAY_DIMENSIONS": ["time", "lat", "lon"], "units": "K", "long_name": variable},
                       chunks=(1,) + SHAPE[1:], compressor=stores.LZ4, fill_value=None)
    store = os.path.join(folder, "huge.zarr")
    zarr.open_group(zarr.DirectoryStore(store), "w")
    shape = (HUGE, 721, 1440)
    coordinates(store, HUGE, 0, shape)
    for name, n in (("huge", HUGE), ("large", 50000)):
        array = zarr.open_array(zarr.DirectoryStore(store), "w", path=name, shape=(n,) + shape[1:], chunks=(1,) + shape[1:], dtype="f4", compressor=stores.LZ4, fill_value=-1)
        array.attrs["_ARRAY_DIMENSIONS"] = ["time" if n == HUGE else "hour", "lat", "lon"]
        array[n - 1] = np.arange(721 * 1440, dtype="f4").reshape(shape[1:])


def check(folder, mnt):
    import scipy.io
    import xarray
    check = stores.Check()
    want = values(0)
    path = mnt + "/t.nc"
    file = scipy.io.netcdf_file(path, mmap=True)
    check.that((file.variables["t"][:] == want).all(), "scipy with mmap")
    begin = file.variables["t"].data.ctypes.data - file.variables["lat"].data.ctypes.data
    check.that(begin > 0, "t is not last")
    file.variables.clear()
    del file
    for engine in ("netcdf4", "scipy"):
        with xarray.open_dataset(path, engine=engine) as data:
            check.that((data["t"].values == want).all(), "xarray with " + engine)
            check.same("time", str(data["time"].values[-1])[:13], "2000-01-01T23")
    with xarray.open_mfdataset(mnt + "/*.nc") as data:
        check.same("variables of *.nc", set(data.data_vars), {"t", "u"})
        check.that((data["u"].values == want + 1).all(), "open_mfdataset")
    flat = np.memmap(mnt + "/t", "f4", "r", shape=SHAPE)
    check.that((flat[5] == want[5]).all(), "memmap of the flat file")
    with open(path, "rb") as raw:
        raw.seek(-want.nbytes, 2)
        offset = raw.tell()
    check.that((np.memmap(path, ">f4", "r", offset, SHAPE)[:, 7, 9] == want[:, 7, 9]).all(), "memmap of the netCDF file")
    return check.failed


def huge(mnt):
    import scipy.io
    import xarray
    check = stores.Check()
    last = 721 * 1440 - 1
    path = mnt + "/huge.nc"
    check.that(os.stat(path).st_size > 5e12, "size")
    with netCDF4.Dataset(path) as nc:
        check.same("format", nc.data_model, "NETCDF3_64BIT_OFFSET")
        check.same("last by netCDF4", nc["huge"][-1, -1, -1], last)
    check.same("last by scipy", scipy.io.netcdf_file(path, mmap=True).variables["huge"][-1, -1, -1], last)
    with xarray.open_dataset(path) as data:
        check.same("last by xarray", data["huge"][-1, -1, -1].values, last)
    with netCDF4.Dataset(mnt + "/dataset.nc") as nc:
        check.same("format of dataset.nc", nc.data_model, "NETCDF3_64BIT_DATA")
        check.same("last of huge in dataset.nc", nc["huge"][-1, -1, -1], last)
        check.same("last of large in dataset.nc", nc["large"][-1, -1, -1], last)
    with netCDF4.Dataset(mnt + "/huge.rec.nc") as nc:
        check.same("last record", nc["huge"][-1, -1, -1], last)
        check.same("last time", nc["time"][-1], HUGE - 1)
    return check.failed


def same(file, variable, first, last):
    all_values = np.concatenate([values(0), values(1)]) + (variable == "u")
    with netCDF4.Dataset(file) as nc:
        got = np.asarray(nc[variable][...])
    if last == "mean":
        want = all_values[:int(first)].astype("f8").mean(0)
        good = np.allclose(got.reshape(want.shape), want, rtol=1e-6)
    else:
        want = all_values[int(first):int(last) + 1]
        good = got.size == want.size and (got.reshape(want.shape) == want).all()
    if not good:
        print("%s: %r, not %r" % (file, got.ravel()[:5], want.ravel()[:5]), file=sys.stderr)
    return not good


if __name__ == "__main__":
    command, arguments = sys.argv[1], sys.argv[2:]
    if command == "make":
        make(*arguments)
    else:
        sys.exit({"check": check, "huge": huge, "same": same}[command](*arguments) != 0)

"""nctools.py make FOLDER: FOLDER/a.zarr, a field with coordinates; b.zarr, the same in later times
nctools.py check FOLDER A-MNT: scipy, numpy and xarray on what is mounted
nctools.py xarray STORE MNT: dataset.nc of each group is to xarray what the store is
nctools.py same FILE VARIABLE FROM TO|mean [LATS,LONS]: what a tool made of time steps FROM..TO"""

import os
import sys

import netCDF4
import numpy as np
import zarr

import stores

SHAPE = (24, 361, 480)


def values(which):
    return stores.field(SHAPE, "f4", which + 1)


def make(folder):
    for which, name in enumerate("ab"):
        store = os.path.join(folder, name + ".zarr")
        stores.group(store, {"Conventions": "CF-1.8"})
        stores.coordinates(store, "", SHAPE[0], which * SHAPE[0], SHAPE[1:])
        for variable in ("t", "u"):
            stores.put(store, variable, values(which) + (variable == "u"), {"_ARRAY_DIMENSIONS": ["time", "lat", "lon"], "units": "K", "long_name": variable},
                       chunks=(1,) + SHAPE[1:], compressor=stores.LZ4, fill_value=None)


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
    check.that((flat == want).all(), "memmap of the flat file")
    with open(path, "rb") as raw:
        raw.seek(-want.nbytes, 2)
        offset = raw.tell()
    check.that((np.memmap(path, ">f4", "r", offset, SHAPE)[:, 7, 9] == want[:, 7, 9]).all(), "memmap of the netCDF file")
    return check.failed


def same_dataset(store, mnt):
    import xarray
    check = stores.Check()
    for group in "", "wind":
        want = xarray.open_zarr(store, group=group or None, consolidated=False, use_cftime=True)
        with xarray.open_dataset(os.path.join(mnt, group, "dataset.nc"), use_cftime=True) as got:
            got = got.drop_vars(set(got.variables) - set(want.variables))  # coordinates of the group above
            if "region" in got:  # text is UTF-8 in a classic file
                got["region"] = "region", [text.decode() for text in got["region"].values], got["region"].attrs
            check.that(want.identical(got), "dataset.nc of '%s' is %r, not %r" % (group, got, want))
    return check.failed


def same(file, variable, first, last, slices=":,:"):
    lats, lons = (slice(*(int(n) if n else None for n in part.split(":"))) for part in slices.split(","))
    all_values = np.arange(48.0) if variable == "time" else np.concatenate([values(0), values(1)])[:, lats, lons] + (variable == "u")
    with netCDF4.Dataset(file) as nc:
        got = np.asarray(nc[variable][...])
    if last == "mean":
        want = all_values[:int(first)].mean(0, dtype="f8")
        good = got.size == want.size and np.allclose(got.reshape(want.shape), want, rtol=1e-6)
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
        sys.exit({"check": check, "xarray": same_dataset, "same": same}[command](*arguments) != 0)

"""huge.py make STORE: huge, 5 TB, and large/large, 200 GB, with coordinates; of each the first and the last time step are stored. more has no chunk.
huge.py read HOW FILE [VARIABLE]: prints the last element, one of the first step and one that is missing"""

import os
import sys

import numpy as np

STEPS, PLANE = {"huge": 1320000, "large": 50000}, (721, 1440)


def make(store):
    import zarr
    import stores

    def field(path, steps):
        array = zarr.open_array(zarr.DirectoryStore(store), "w", path=path, shape=(steps,) + PLANE, chunks=(1,) + PLANE, dtype="f4", compressor=stores.LZ4,
                                fill_value=-1)
        array.attrs.update({"_ARRAY_DIMENSIONS": ["time", "lat", "lon"], "units": "K"})
        return array
    zarr.open_group(zarr.DirectoryStore(store), "w").create_group("large")
    numbers = np.arange(float(PLANE[0] * PLANE[1])).reshape(PLANE)
    for group, name in (("", "huge"), ("large/", "large")):
        stores.coordinates(store, group, STEPS[name], 0, PLANE)
        array = field(group + name, STEPS[name])
        array[0], array[-1] = numbers, numbers.size + 0.5 - numbers
    field("more", STEPS["huge"])


def printed(variable):
    """-999 where the tool has masked it"""
    print(*(np.ma.filled(variable[at], -999).item() for at in ((-1, -1, -1), (0, 300, 700), (variable.shape[0] // 2, 300, 700))))


def read(how, path, name="huge"):
    if how == "netCDF4":
        import netCDF4
        with netCDF4.Dataset(path) as nc:
            printed(nc[name])
    elif how == "scipy mmap":
        import scipy.io
        printed(scipy.io.netcdf_file(path, mmap=True).variables[name])
    elif how.startswith("xarray"):
        import xarray
        with xarray.open_dataset(path, engine=how.split()[1], mask_and_scale=False) as data:
            printed(data[name])
    elif how == "memmap":
        printed(np.memmap(path, "f4", "r", shape=(STEPS[os.path.basename(path)],) + PLANE))
    elif how == "load":
        printed(np.load(path, mmap_mode="r"))


if __name__ == "__main__":
    {"make": make, "read": read}[sys.argv[1]](*sys.argv[2:])

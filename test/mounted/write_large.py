"""Files that write_large.sh copies: write_large.py fixed|records FILE; check STORE FILE: zarr-python has the values of the file."""
import sys

import netCDF4
import numpy


def make(name, records):
    rows, shape, count = (200, (128, 256), 8) if records else (200, (512, 512), 1)
    values = numpy.arange(shape[0] * shape[1], dtype="f4").reshape(shape)
    with netCDF4.Dataset(name, "w", format="NETCDF3_64BIT_OFFSET") as file:
        file.title = "large"
        file.createDimension("time", None if records else rows)
        for dim, size in zip("yx", shape):
            file.createDimension(dim, size)
        time = file.createVariable("time", "f8", ("time",))
        odd = file.createVariable("odd", "i1", ("time",))
        v = [file.createVariable("v%d" % i, "f4", ("time", "y", "x"), fill_value=-1) for i in range(count)]
        for k in range(rows):
            time[k] = k / 2
            odd[k] = k % 100
            for i in range(count):
                v[i][k] = values * 0.37 + k * 1000 + i


def check(store, name):
    import zarr

    group = zarr.open_group(store, mode="r")
    with netCDF4.Dataset(name) as file:
        file.set_auto_mask(False)
        assert sorted(group.array_keys()) == sorted(file.variables), list(group.array_keys())
        for var in file.variables:
            for k in range(0, file.dimensions["time"].size, 50):
                assert numpy.array_equal(group[var][k:k + 50], file[var][k:k + 50]), (var, k)


if sys.argv[1] == "check":
    check(*sys.argv[2:])
else:
    make(sys.argv[2], sys.argv[1] == "records")

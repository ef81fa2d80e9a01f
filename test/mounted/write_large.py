"""Files that write_large.sh copies: write_large.py fixed|records FILE; check STORE FILE: zarr-python has the values of the file; same FILE FILE: in
any layout; whole STORE FILE: it has them, or some of its arrays; disorder|header|sparse FROM TO: writes the file in another order than its
own; pair TO TO FILE: copies it to both. LARGE_ROWS: how many rows of 1 MiB a file has (200)."""
import os
import sys

import netCDF4
import numpy


def make(name, records):
    rows, shape, count = int(os.environ.get("LARGE_ROWS", 200)), *(((128, 256), 8) if records else ((512, 512), 1))
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


def check(store, name, some=False):
    import zarr

    group = zarr.open_group(store, mode="r")
    with netCDF4.Dataset(name) as file:
        file.set_auto_mask(False)
        assert some or sorted(group.array_keys()) == sorted(file.variables), list(group.array_keys())
        for var in group.array_keys():
            for k in range(0, file.dimensions["time"].size, 50):
                assert numpy.array_equal(group[var][k:k + 50], file[var][k:k + 50]), (var, k)


def same(one, two):
    with netCDF4.Dataset(one) as a, netCDF4.Dataset(two) as b:
        assert set(a.variables) <= set(b.variables), (list(a.variables), list(b.variables))
        for var in a.variables:
            a[var].set_auto_mask(False)
            b[var].set_auto_mask(False)
            for k in range(0, len(a[var]), 50):
                assert numpy.array_equal(a[var][k:k + 50], b[var][k:k + 50]), (var, k)


def whole(store, name):
    check(store, name, True)
    print("there is" if os.path.exists(store + "/v0/.zarray") else "there is not")


def write(how, source, target):
    with open(source, "rb") as file:
        data = file.read()
    step = 1 << 20
    first, second = (len(data) * tenths // 10 // step * step for tenths in (4, 6))
    fd = os.open(target, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)

    def put(begin, end):
        for at in range(begin, end, step):
            part = data[at:min(at + step, end)]
            assert os.pwrite(fd, part, at) == len(part)

    put(0, first + 3)
    if how == "disorder":
        put(second + 1, len(data))
        put(first - 5000001, second + 7)
    elif how == "header":
        put(first + 3, len(data))
        put(0, 1 << 20)
        assert os.pwrite(fd, b"LARGE", data.index(b"large")) == 5
    else:
        hole = first + 3 + len(data) // 10
        put(hole, len(data))
    os.fsync(fd)
    os.close(fd)


def pair(one, two, name):
    """Two copies of one file in step, the second of which breaks off; says whether the first is whole, or is told that it is not."""
    with open(name, "rb") as file:
        data = file.read()
    begin, middle, step = 1 << 20, len(data) // 2, 1 << 20
    files = [os.open(path, os.O_WRONLY | os.O_CREAT) for path in (one, two)]

    def put(fd, begin, end):
        for at in range(begin, end, step):
            os.pwrite(fd, data[at:min(at + step, end)], at)

    for fd in files:
        put(fd, 0, begin)
    try:
        put(files[0], begin, middle)
        try:
            put(files[1], begin, middle)
        except FileExistsError:
            pass
        try:
            os.close(files[1])
        except OSError:
            pass
        put(files[0], middle, len(data))
        os.close(files[0])
        print("whole")
    except FileExistsError:
        print("told")


if sys.argv[1] == "pair":
    pair(*sys.argv[2:])
elif sys.argv[1] in ("disorder", "header", "sparse"):
    write(*sys.argv[1:])
elif sys.argv[1] in ("check", "same", "whole"):
    {"check": check, "same": same, "whole": whole}[sys.argv[1]](*sys.argv[2:])
else:
    make(sys.argv[2], sys.argv[1] == "records")

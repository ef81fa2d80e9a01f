"""nczarr.py STORES MOUNT WRITTEN: each store below STORES holds what data/writers.cdl says, less what its writer could not store; WRITTEN is
the netCDF file that libnetcdf makes of that"""

import difflib
import os
import re
import subprocess
import sys

import netCDF4
import numpy as np

import stores


def numbers(dtype, *values):
    return np.array(values, dtype).tobytes()


# path → bytes with endian=little, dimensions
VARIABLES = {
    "time": (numbers("<f8", 0, 1), "/time"),
    "t2m": (numbers("<f4", *range(1, 31)), "/time, /lat, /lon"),
    "packed": (numbers("<i2", *range(1, 16)), "/lat, /lon"),
    "scal": (numbers("<i4", 42), ""),
    "name": (b"abcdef\0\0ghij", "/lat, /nchar"),
    "str": (b"".join(text.ljust(16, b"\0") for text in (b"alpha", b"beta", b"a string that is")), "/lat"),
    "b": (numbers("i1", -1, 2, 3, 4, 5), "/lon"),
    "ub": (numbers("u1", 1, 2, 3, 4, 255), "/lon"),
    "us": (numbers("<u2", 1, 2, 3, 4, 65535), "/lon"),
    "ui": (numbers("<u4", 1, 2, 3, 4, 4294967295), "/lon"),
    "i64": (numbers("<i8", -1, 2, 3, 4, 5), "/lon"),
    "u64": (numbers("<u8", 1, 2, 3, 4, 18446744073709551615), "/lon"),
    "nanv": (numbers("<f8", 1, np.nan, 2), "/lat"),
    "g1/v": (numbers("<i4", 1, 2), "/g1/x"),
    "g1/w": (numbers("<i4", *range(1, 7)), "/lat, /g1/x"),
    "g1/g2/z": (numbers("<f8", *range(1, 11)), "/g1/x, /lon"),
}
LOST_SCALAR = re.compile(r"o480|4\.8\.1")  # 4.8.0 and 4.8.1 stored its fill value only
GROUPS = ["g1", "g1/g2", "empty"]
# (path, name) → CDL with recorded types
ATTRIBUTES = {
    ("", "title"): "hello",
    ("", "Conventions"): "CF-1.8",
    ("", "int1"): "1",
    ("", "intv"): "1, 2, 3",
    ("", "byte1"): "1b",
    ("", "dbl"): "1.5",
    ("", "flt"): "1.5f",
    ("", "onechar"): "x",
    ("time", "units"): "days since 2000-01-01",
    ("t2m", "long_name"): "2 metre temp",
    ("t2m", "valid_range"): "-100.f, 100.f",
    ("packed", "scale_factor"): "0.5",
    ("scal", "note"): "scalar var",
    ("g1", "gatt"): "in g1",
    ("g1/w", "a"): "7s",
}


def check_header(check, name, shown, written):
    """dataset.cdl has every line that ncdump -h prints of the file, in the same order; more, where its writer was given more."""
    want = subprocess.run(["ncdump", "-h", written], capture_output=True, check=True, text=True).stdout
    with open(os.path.join(shown, "dataset.cdl"), encoding="utf8") as file:
        got = file.read().replace("time = UNLIMITED ; // (2 currently)", "time = 2 ;")
    changes = [line for line in difflib.ndiff(want.splitlines()[1:], got.splitlines()[1:]) if line[0] in "+-"]
    check.same("%s: what its header lacks" % name, [line for line in changes if line[0] == "-"], [])
    if name.startswith("here"):  # netcdf-c 4.9.0 to 4.9.2 make an attribute of every fill value
        check.same("%s: what its header has besides" % name, [line for line in changes if ":_FillValue = " not in line], [])


def same_attributes(check, what, got, want):
    for key in want.ncattrs():
        there = key in got.ncattrs()
        check.that(there and np.array_equal(got.getncattr(key), want.getncattr(key), equal_nan=not isinstance(want.getncattr(key), str)) and
                   np.asarray(got.getncattr(key)).dtype == np.asarray(want.getncattr(key)).dtype, "%s:%s is %r" % (what, key, there and got.getncattr(key)))


def check_netcdf(check, name, shown, written):
    """What libnetcdf reads from the files of the groups is what it reads from the file."""
    for group in ["", *GROUPS]:
        want = written[group] if group else written
        if not want.variables:
            continue
        with netCDF4.Dataset(os.path.join(shown, group, "dataset.cdf5.nc")) as got:
            got.set_auto_mask(False)
            same_attributes(check, "%s: %s" % (name, group), got, want)
            for path, variable in want.variables.items():
                what = "%s: %s in dataset.cdf5.nc" % (name, path)
                if not check.that(path in got.variables, what + " is missing"):
                    continue
                one = got[path]
                check.same("type of " + what, one.dtype, variable.dtype)
                check.same("dimensions of " + what, (one.dimensions, one.shape), (variable.dimensions, variable.shape))
                if path != "scal" or not LOST_SCALAR.search(name):
                    check.same(what, one[...].tobytes(), variable[...].tobytes())
                same_attributes(check, what, one, variable)


def check_store(check, folder, mount, name, written):
    recorded = "nczarr" in name and not name.endswith(("zarrzarr", "noxarray"))
    store, shown = os.path.join(folder, name), os.path.join(mount, name)
    for group in GROUPS:
        check.that(os.path.isdir(os.path.join(shown, group)), "%s: no group %s" % (name, group))
    for path, (want, dims) in VARIABLES.items():
        if not os.path.exists(os.path.join(store, path)):
            check.that(path == "str", "%s: its writer left out %s" % (name, path))
            continue
        if path == "scal" and LOST_SCALAR.search(name):
            want = numbers("<i4", -2147483647)
        file = os.path.join(shown, path)
        try:
            check.bytes("%s: %s" % (name, path), stores.read(file), want)
            got = os.getxattr(file, "user.zarrfs.dims").decode()
        except OSError as error:
            check.that(False, "%s: %s: %s" % (name, path, error))
            continue
        if recorded:
            check.same("%s: dimensions of %s" % (name, path), got, dims)
    for (path, key), want in ATTRIBUTES.items():
        try:
            got = os.getxattr(os.path.join(shown, path), "user." + key).decode()
        except OSError as error:
            check.that(False, "%s: %s:%s: %s" % (name, path, key, error))
            continue
        if recorded or want[0] not in "-0123456789":
            check.same("%s: %s:%s" % (name, path, key), got, want)
    hidden = [key for path in ("", "t2m", "g1") for key in os.listxattr(os.path.join(shown, path)) if "ncz" in key.lower() or "_NC" in key or "_ARRAY" in key]
    check.same("%s: what should be hidden" % name, hidden, [])
    if recorded:
        check_header(check, name, shown, written.filepath())
        check_netcdf(check, name, shown, written)


def main():
    folder, mount, path = sys.argv[1:]
    check, names, written = stores.Check(), sorted(os.listdir(folder)), netCDF4.Dataset(path)
    written.set_auto_mask(False)
    for name in names:
        if not os.path.exists(os.path.join(folder, name, "zarr.json")):  # drafts of V3
            check_store(check, folder, mount, name, written)
    print("%d stores: %s" % (len(names), " ".join(names)))
    check.end()


main()

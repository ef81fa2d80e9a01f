"""nccorpus.py gather FOLDER STORE: all arrays of the corpus's V2 directory stores that are one array, as one group
nccorpus.py check EXPECTED FOLDER MNT LOG: each array of the corpus's, in its own netCDF files and in its group's, against its flat file
nccorpus.py check_all STORE MNT LOG: the same for dataset.nc of what was gathered"""

import glob
import os
import re
import shutil
import sys
import time

import numpy as np
import zarr

import netcdf
import stores


def arrays(expected, folder):
    """Path below the mount, group's path ("" where the array is a store of its own), and the array as zarr-python sees it."""
    for line in open(expected, encoding="utf8"):
        store, path, _, _, value = line.rstrip("\n").split("\t")[:5]
        if not store.startswith("synthetic_v2/") or len(value) != 64 or not os.path.isdir(os.path.join(folder, store)):
            continue
        try:
            array = zarr.open_array(zarr.DirectoryStore(os.path.join(folder, store)), "r", path=path)
            dtype = array.dtype
        except Exception:  # what it cannot open is for others to check
            continue
        if dtype.kind != "O" and not dtype.hasobject:
            whole = os.path.join(store, path).rstrip("/")
            yield whole, os.path.dirname(whole) if path else "", array


def refuses(values, cdf5):
    """A double cannot hold all of these."""
    return not cdf5 and values.dtype.kind in "iu" and values.dtype.itemsize == 8 and \
        any(int(float(v)) != v for v in values.ravel().tolist())


def check_column(check, where, got, column, values, cdf5):
    if not check.that(column in got.variables, "%s has no %s" % (where, column)):
        return 0
    try:
        read = got.variables[column][...]
    except (RuntimeError, OSError) as error:
        check.that(refuses(values, cdf5), "%s %s: %s" % (where, column, error))
        return 0
    want = netcdf.expected(values, cdf5)
    check.that(netcdf.same_bits(read, want), "%s %s: %r, not %r" % (where, column, read.ravel()[:4], want.ravel()[:4]))
    return 1


def said_why(name, log):
    end = time.monotonic() + 60  # it comes a moment later
    while not (said := re.search("variable '%s' is (not in the|in no) netCDF file" % re.escape(name), log())) and time.monotonic() < end:
        time.sleep(0.05)
    return said is not None


def check_file(check, path, name, values, cdf5, log):
    if 0 in values.shape[1:]:  # only the first dimension of a classic file may have no length
        check.that(not os.path.exists(path) or said_why(name, log), "%s holds a dimension of length 0" % path)
        return 0
    with netcdf.read(path) as nc:
        return sum(check_column(check, path, nc, column, part, cdf5) for column, part in netcdf.columns(name, values))


def reader(path):
    return lambda: open(path, encoding="utf8").read()


def flat_values(path, array):
    return np.frombuffer(open(path, "rb").read(), array.dtype.newbyteorder("<")).reshape(array.shape)


def check(expected, folder, mnt, log):
    checks = stores.Check()
    done = 0
    for whole, group, array in arrays(expected, folder):
        flat, name = os.path.join(mnt, whole), os.path.basename(whole)
        values = flat_values(flat, array)
        for suffix in (".nc", ".cdf5.nc"):
            done += check_file(checks, flat + suffix, name, values, suffix != ".nc", reader(log))
        if group and name in os.listdir(os.path.join(mnt, group)):  # not where consolidated metadata know nothing of it
            done += check_file(checks, os.path.join(mnt, group, "dataset.nc"), name, values, False, reader(log))
    print("%d variables compared" % done)
    checks.that(done > 400, "%d variables were compared" % done)
    checks.end()


def gather(folder, store):
    os.mkdir(store)
    open(os.path.join(store, ".zgroup"), "w").write('{"zarr_format": 2}')
    for path in glob.glob(os.path.join(folder, "synthetic_v2", "*.zarr")):
        if os.path.exists(os.path.join(path, ".zarray")):
            shutil.copytree(path, os.path.join(store, os.path.basename(path)))


def check_all(store, mnt, log):
    checks = stores.Check()
    done = left_out = 0
    for path in sorted(glob.glob(os.path.join(store, "*.zarr"))):
        name = os.path.basename(path)
        with netcdf.read(os.path.join(mnt, "dataset.nc")) as nc:
            columns = [v for v in nc.variables if v == name or v.startswith(name + ".")]
        if not columns:
            left_out += 1
            checks.that(said_why(name, reader(log)), "%s is missing, and the log does not say so" % name)
            continue
        try:
            array = zarr.open_array(path, "r")
            values = flat_values(os.path.join(mnt, name), array)
        except Exception:  # what zarr-python cannot open; texts; what the flat file refuses
            continue
        done += check_file(checks, os.path.join(mnt, "dataset.nc"), name, values, False, reader(log))
    print("%d variables compared, %d left out" % (done, left_out))
    checks.that(done > 50, "%d variables were compared" % done)
    checks.end()


if __name__ == "__main__":
    {"gather": gather, "check": check, "check_all": check_all}[sys.argv[1]](*sys.argv[2:])

"""write_masked.py make STORE: a store, by whether its name ends in `large` or `edges`.
write_masked.py large MOUNT: appends records of which some values are missing; check MOUNT: are they there?
write_masked.py edges MOUNT MOUNT STORE: records that both mounts make."""

import json
import os
import sys

import netCDF4
import numpy as np

MISSING, TIMES, SIDE = np.float32(-9999), 16, 400


def array(store, name, values, chunk):
    path = os.path.join(store, name)
    os.makedirs(path)
    with open(os.path.join(path, ".zarray"), "w", encoding="utf8") as file:
        json.dump({"zarr_format": 2, "shape": values.shape, "chunks": chunk.shape, "dtype": "<f4", "compressor": None, "fill_value": 0,
                   "order": "C", "filters": None}, file)
    with open(os.path.join(path, ".zattrs"), "w", encoding="utf8") as file:
        json.dump({"_ARRAY_DIMENSIONS": ["time", "y", "x"][:values.ndim], "_FillValue": float(MISSING)}, file)
    chunk.tofile(os.path.join(path, ".".join("0" * values.ndim)))


def make(store):
    os.makedirs(store)
    with open(os.path.join(store, ".zgroup"), "w", encoding="utf8") as file:
        json.dump({"zarr_format": 2}, file)
    if store.endswith("large"):
        chunk = np.zeros((TIMES, SIDE, SIDE), "<f4")
        chunk[0] = 1
        for name in "abc":
            array(store, name, chunk[:1], chunk)
        return
    chunk = np.full((16, 4), 7, "<f4")  # what another writer left behind the edge is not fill
    chunk[:2, :3], chunk[2:, :3] = 1, 0
    for name in "abp":
        array(store, name, chunk[:2, :3], chunk)


def row():
    values = np.full((SIDE, SIDE), 3, "f4")
    values[::7, ::5] = MISSING
    return values


def large(mount):
    with netCDF4.Dataset(os.path.join(mount, "dataset.nc"), "r+") as d:
        for time in range(1, TIMES):
            for name in "abc":
                d[name][time] = np.ma.masked_equal(row(), MISSING)


def check(mount):
    with netCDF4.Dataset(os.path.join(mount, "dataset.nc")) as d:
        d.set_auto_mask(False)
        for name in "abc":
            assert d[name].shape[0] == TIMES
            for time in range(1, TIMES):
                assert np.array_equal(d[name][time], row()), "%s, record %d" % (name, time)


def both(mounts, fill, second, first):
    """Both append one record; the second mount's rows are stored first."""
    files = [netCDF4.Dataset(os.path.join(m, "dataset.nc"), "r+") for m in mounts]
    at = files[0]["a"].shape[0]
    for d in files:
        if not fill:
            d.set_fill_off()
    for d, values_of in zip(files[::-1], (second, first)):
        for name, values in values_of.items():
            d[name][at] = np.ma.masked_equal(values, MISSING)
        d.close()
    return at


def edges(first, second, store):
    def is_now(at, **want):
        for name, values in want.items():
            got = np.fromfile(os.path.join(store, name, "0.0"), "<f4").reshape(16, 4)[at, :3]
            assert np.array_equal(got, np.array(values, "f4")), "%s, record %d: %s, not %s" % (name, at, got, values)

    some, none, mounts = [1, MISSING, 3], [MISSING] * 3, (first, second)
    with netCDF4.Dataset(os.path.join(first, "dataset.nc"), "r+") as d:  # the same program makes the record by another name too
        at = d["a"].shape[0]
        d["b"][at] = np.ma.masked_equal(none, MISSING)
        with open(os.path.join(first, "a"), "ab") as flat:
            flat.write(np.array([5, 6, 7], "<f4").tobytes())
    is_now(at, a=[5, 6, 7], b=none)
    is_now(both(mounts, True, second={"b": [5, 6, 7]}, first={"b": some}), a=none, b=some, p=none)
    is_now(both(mounts, True, second={"b": [5, 6, 7]}, first={"a": some}), a=some, b=[5, 6, 7], p=none)
    zero = [0, 0, 0]  # what no program wrote, or one did
    is_now(both(mounts, False, second={"b": [5, 6, 7]}, first={"a": some}), a=some, b=[5, 6, 7], p=zero)
    is_now(both(mounts, True, second={"b": zero}, first={"a": some}), a=some, b=zero, p=none)
    is_now(both(mounts, True, second={"a": some}, first={"b": zero}), a=some, b=zero, p=none)
    is_now(both(mounts, True, second={"a": some, "b": zero, "p": zero}, first={}), a=some, b=zero, p=zero)


if __name__ == "__main__":
    globals()[sys.argv[1]](*sys.argv[2:])

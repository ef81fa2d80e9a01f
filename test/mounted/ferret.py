"""ferret.py write FOLDER ROUNDS: turns each of ferret-datasets' files into Zarr V2 stores, a variable in another layout each round
ferret.py compare FOLDER ROUNDS ENDIAN: compares the flat files and attributes below FOLDER, a mount, with netCDF's"""

import os
import sys

import netCDF4
import numcodecs
import numpy as np

import stores

SOURCE = "/usr/share/ferret-vis/data"

# chunks as divisors of the shape, or None for one chunk; what else create takes
LAYOUTS = [
    (4, {"compressor": stores.BLOSC}),
    (3, {"compressor": stores.ZLIB, "filters": [numcodecs.Shuffle(4)], "order": "F"}),
    (None, {"compressor": None}),
    (7, {"compressor": stores.ZSTD, "dtype": ">"}),
    (5, {"compressor": numcodecs.Blosc("zstd", 3, numcodecs.Blosc.BITSHUFFLE), "order": "F", "dtype": ">"}),
    (2, {"compressor": stores.LZ4, "dimension_separator": "/"}),
    (6, {"compressor": numcodecs.GZip(1), "filters": [numcodecs.Delta("<i4")]}),
]


def variables(rounds):
    """(netCDF file, variable, path of the array below the folder, layout)"""
    number = 0
    for name in sorted(os.listdir(SOURCE)):
        with netCDF4.Dataset(os.path.join(SOURCE, name)) as file:
            file.set_auto_maskandscale(False)
            for turn in range(rounds):
                for variable in file.variables.values():
                    number += 1
                    yield file, variable, "%s.%d.zarr" % (name.split(".")[0], turn), LAYOUTS[number % len(LAYOUTS)]


def write(folder, rounds):
    for file, variable, store, (parts, how) in variables(rounds):
        values, how = variable[...], dict(how)
        how["dtype"] = values.dtype.newbyteorder(how.get("dtype", "<"))
        how["chunks"] = tuple(-(-n // (parts or 1)) for n in values.shape)
        if how.get("filters") and values.dtype.itemsize == 8:
            how["filters"] = [numcodecs.Shuffle(8)]
        elif isinstance((how.get("filters") or [None])[0], numcodecs.Delta):
            values = values.view("<i4") # Delta of floats loses bits; of their bits it does not
            how["dtype"] = values.dtype
        attrs = {key: variable.getncattr(key) for key in variable.ncattrs()}
        attrs = {key: value.item() if hasattr(value, "item") else value for key, value in attrs.items()}
        attrs["_ARRAY_DIMENSIONS"] = list(variable.dimensions)
        fill = variable.getncattr("_FillValue").item() if how["dtype"].kind == "f" and "_FillValue" in attrs else 0
        stores.put(os.path.join(folder, store), variable.name, values, attrs, fill_value=fill, write_empty_chunks=False, **how)


def compare(mount, rounds, endian):
    check, seen = stores.Check(), 0
    for file, variable, store, _ in variables(rounds):
        path, want = os.path.join(mount, store, variable.name), variable[...]
        got = np.memmap(path, "u1", "r") if want.size else np.empty(0, "u1")
        want = stores.flat(want, "<" if endian == "little" else ">")
        if not np.array_equal(got, np.frombuffer(want, "u1")):
            check.bytes("%s of %s" % (variable.name, store), stores.read(path), want)
        for key in variable.ncattrs():
            text = variable.getncattr(key)
            if isinstance(text, str):
                check.same("%s:%s of %s" % (variable.name, key, store), os.getxattr(path, "user." + key).decode(), text)
        seen += 1
    print("%d variables compared" % seen)
    check.that(seen >= 30 * rounds, "only %d variables" % seen)
    check.end()


if sys.argv[1] == "write":
    write(sys.argv[2], int(sys.argv[3]))
else:
    compare(sys.argv[2], int(sys.argv[3]), sys.argv[4])

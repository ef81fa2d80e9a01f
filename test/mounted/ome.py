"""ome.py FOLDER: writes old.zarr, with images as OME-Zarr 0.4 has them, and new.ozx, as 0.5; ome.py compare CLASSIC NC4: both files have the
same coordinates, by netCDF4 where that is installed; ome.py write FILE CHUNK: elements of the image can be written, its places cannot;
ome.py anew FILE: nor can they where the file is written anew, but as they are."""

import errno
import json
import os
import struct
import sys
import zipfile

import numpy as np


def put(folder, name, content):
    path = os.path.join(folder, name)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "wb") as file:
        file.write(content if isinstance(content, bytes) else json.dumps(content).encode())


def zarray(shape, dtype="<i2"):
    return {"zarr_format": 2, "shape": shape, "chunks": shape, "dtype": dtype, "fill_value": 0, "order": "C", "compressor": None, "filters": None,
            "dimension_separator": "/"}


def image(axes, levels, **more):
    return {"version": "0.4", "axes": axes, **more,
            "datasets": [{"path": path, "coordinateTransformations": moves} for path, moves in levels]}


AXES = [{"name": "t", "type": "time", "unit": "second"}, {"name": "c", "type": "channel"},
        {"name": "y", "type": "space", "unit": "micrometer"}, {"name": "x", "type": "space", "unit": "micrometer"}]


def old(folder):
    put(folder, ".zgroup", {"zarr_format": 2})
    levels = [("0", [{"type": "scale", "scale": [1, 1, 0.5, 0.5]}]),
              ("1", [{"type": "scale", "scale": [1, 1, 1, 1]}, {"type": "translation", "translation": [0, 0, 10.5, 0.25]}])]
    put(folder, "image/.zgroup", {"zarr_format": 2})
    whole = [{"type": "scale", "scale": [2.5, 1, 1, 1]}]
    put(folder, "image/.zattrs", {"multiscales": [image(AXES, levels, coordinateTransformations=whole)]})
    for name, shape in ("0", [3, 2, 4, 8]), ("1", [3, 2, 2, 4]):
        put(folder, "image/%s/.zarray" % name, zarray(shape))
        put(folder, "image/%s/0/0/0/0" % name, np.arange(np.prod(shape), dtype="<i2").tobytes())
    put(folder, "named/.zgroup", {"zarr_format": 2})
    put(folder, "named/.zattrs", {"multiscales": [image(AXES[3:], [("0", [{"type": "scale", "scale": [3]}])])]})
    put(folder, "named/0/.zarray", zarray([2]))
    put(folder, "named/x/.zarray", zarray([2]))
    put(folder, "named/x/.zattrs", {"_ARRAY_DIMENSIONS": ["x"], "units": "the store has it"})


def new(path):
    axes = [{"name": "z", "type": "space", "unit": "nanometer"}, {"name": "x", "type": "space"}]
    moves = [{"type": "scale", "scale": [0.3, 1]}, {"type": "translation", "translation": [100, 0]}]
    array = {"zarr_format": 3, "node_type": "array", "shape": [3, 2], "data_type": "uint8", "fill_value": 7,
             "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [3, 2]}}, "chunk_key_encoding": {"name": "default"},
             "codecs": [{"name": "bytes"}], "dimension_names": ["z", "x"]}
    with zipfile.ZipFile(path, "w") as file:
        file.writestr("zarr.json", json.dumps({"zarr_format": 3, "node_type": "group", "attributes":
                                               {"ome": {"version": "0.5", "multiscales": [image(axes, [("0", moves)])]}}}))
        file.writestr("0/zarr.json", json.dumps(array))


def compare(classic, nc4):
    try:
        import netCDF4
    except ImportError:
        return
    with netCDF4.Dataset(classic) as a, netCDF4.Dataset(nc4) as b:
        for name in "t", "y", "x":
            if not np.array_equal(a[name][:], b[name][:]) or a[name].units != b[name].units:
                sys.exit("%s: %s and %s" % (name, a[name][:], b[name][:]))


PLACES = struct.pack(">4d", 0.25, 1.25, 2.25, 3.25)


def write(path, chunk):
    places, elements = PLACES, struct.pack(">4h", 0, 1, 2, 3)
    with open(path, "r+b", buffering=0) as file:
        content = file.read()
        file.seek(content.index(elements))
        file.write(struct.pack(">4h", 9, 8, 7, 6))
        file.seek(content.index(places))
        file.write(places)
    with open(chunk, "rb") as file:
        if file.read(8) != struct.pack("<4h", 9, 8, 7, 6):
            sys.exit("an element was not written")
    with open(path, "r+b", buffering=0) as file:
        file.seek(0, os.SEEK_END)
        file.write(bytes(4))
        os.fsync(file.fileno())
        file.seek(0)
        if places not in file.read():
            sys.exit("where the header has been looked at once more, there are no places")
    try:
        with open(path, "r+b", buffering=0) as file:
            file.seek(content.index(places))
            file.write(struct.pack(">4d", 1, 2, 3, 4))
        sys.exit("a place was written")
    except OSError as error:
        if error.errno != errno.EINVAL:
            raise


def anew(path):
    with open(path, "rb") as file:
        content = file.read()
    for places in PLACES, struct.pack(">4d", 0.25, 1.25, 2.25, 4):
        try:
            with open(path, "wb", buffering=0) as file:
                file.write(content.replace(PLACES, places))
        except OSError as error:
            if error.errno != errno.EINVAL or places == PLACES:
                raise
            return
    sys.exit("a file of other places was taken in")


if __name__ == "__main__":
    if sys.argv[1] in ("compare", "write", "anew"):
        {"compare": compare, "write": write, "anew": anew}[sys.argv[1]](*sys.argv[2:])
    else:
        old(os.path.join(sys.argv[1], "old.zarr"))
        new(os.path.join(sys.argv[1], "new.ozx"))

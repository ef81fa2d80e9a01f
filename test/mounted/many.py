"""many.py FOLDER ARRAYS CHUNKS: arrays.zarr of so many arrays, consolidated; chunks.zarr, three arrays of so many chunk files each"""

import json
import os
import sys

folder, arrays, chunks = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])


def document(shape, chunk):
    return {"zarr_format": 2, "shape": shape, "chunks": chunk, "dtype": "<f4", "compressor": {"id": "zlib", "level": 1},
            "fill_value": 0, "filters": None, "order": "C"}


def write(path, content):
    with open(os.path.join(folder, path), "w", encoding="utf8") as file:
        json.dump(content, file)


os.makedirs(os.path.join(folder, "arrays.zarr"))
metadata = {".zgroup": {"zarr_format": 2}, ".zattrs": {"title": "very many"}}
for number in range(arrays):
    name = "v%05d" % number
    metadata[name + "/.zarray"] = document([10, 30, 40], [1, 30, 40])
    metadata[name + "/.zattrs"] = {"units": "K", "long_name": "variable number %d" % number, "_ARRAY_DIMENSIONS": ["time", "y", "x"]}
    os.mkdir(os.path.join(folder, "arrays.zarr", name))
    for key in (".zarray", ".zattrs"):
        write("arrays.zarr/%s/%s" % (name, key), metadata[name + "/" + key])
write("arrays.zarr/.zgroup", {"zarr_format": 2})
write("arrays.zarr/.zmetadata", {"zarr_consolidated_format": 1, "metadata": metadata})

os.makedirs(os.path.join(folder, "chunks.zarr"))
write("chunks.zarr/.zgroup", {"zarr_format": 2})
for number in range(3):
    base = os.path.join(folder, "chunks.zarr", "a%d" % number)
    os.mkdir(base)
    write("chunks.zarr/a%d/.zarray" % number, document([chunks * 2], [2]))
    for chunk in range(chunks):
        path = os.path.join(base, str(chunk))
        if chunk % 30000 == 0:  # a file system bears only so many links to one file
            first = path
            with open(path, "wb") as file:
                file.write(b"not looked at")
        else:
            os.link(first, path)

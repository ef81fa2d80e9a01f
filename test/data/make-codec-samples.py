#!/usr/bin/python3
"""make-codec-samples.py DIR: writes the samples of test/data/codec: what numcodecs, Python and HDF5 (h5py) make of
i / 3 + (i * i >> 3) % 5. Each file: a line of JSON (codec id, its configuration, element size, count), then the bytes."""

import json
import os
import struct
import sys
import tempfile

import h5py
import numcodecs
import numpy as np

TOP = sys.argv[1]


def values(count, size):
    i = np.arange(count, dtype="u8")
    return (i // 3 + (i * i >> 3) % 5).astype("<u%d" % size)


def write(name, codec, config, size, count, data):
    with open(os.path.join(TOP, name), "wb") as f:
        head = {"id": codec, "config": config, "size": size, "count": count}
        f.write(json.dumps(head).encode() + b"\n" + bytes(data))


def by_numcodecs(name, config, size=4, count=300, pieces=1):
    codec = numcodecs.get_codec(dict(config))
    v = values(count, size)
    write(name, config["id"], config, size, count, b"".join(bytes(codec.encode(p)) for p in np.split(v, pieces)))


def stored_by_hdf5(v, **filters):
    """The bytes of the only chunk of a dataset."""
    with tempfile.NamedTemporaryFile() as tmp, h5py.File(tmp.name, "w") as f:
        d = f.create_dataset("v", data=v, chunks=v.shape, **filters)
        return d.id.read_direct_chunk((0,) * v.ndim)[1]


def sum_crc32c(data):
    s = 0xFFFFFFFF
    for b in data:
        s ^= b
        for _ in range(8):
            s = s >> 1 ^ (0x82F63B78 if s & 1 else 0)
    return s ^ 0xFFFFFFFF


def main():
    os.makedirs(TOP, exist_ok=True)
    for cname in "lz4", "lz4hc", "blosclz", "zlib", "zstd", "snappy":
        if cname in numcodecs.blosc.list_compressors():
            for shuffle in 0, 1, 2:
                config = {"id": "blosc", "cname": cname, "clevel": 5, "shuffle": shuffle, "blocksize": 0}
                by_numcodecs("blosc-%s-%d" % (cname, shuffle), config, size=1 << shuffle)
    config = {"id": "blosc", "cname": "lz4", "clevel": 5, "shuffle": 1, "blocksize": 512}
    by_numcodecs("blosc-blocks", config, count=1000)
    by_numcodecs("blosc-memcpyed", dict(config, clevel=0), count=40)
    by_numcodecs("blosc-tiny", config, count=1, size=1)
    by_numcodecs("zlib", {"id": "zlib", "level": 4})
    by_numcodecs("gzip", {"id": "gzip", "level": 1})
    by_numcodecs("gzip-members", {"id": "gzip", "level": 1}, pieces=3)
    by_numcodecs("bz2", {"id": "bz2", "level": 1})
    by_numcodecs("bz2-streams", {"id": "bz2", "level": 1}, pieces=2)
    by_numcodecs("zstd", {"id": "zstd", "level": 1})
    by_numcodecs("zstd-frames", {"id": "zstd", "level": 1}, pieces=3)
    by_numcodecs("lz4", {"id": "lz4", "acceleration": 1})
    by_numcodecs("lzma-xz", {"id": "lzma", "format": 1, "check": -1, "preset": None, "filters": None})
    by_numcodecs("lzma-streams", {"id": "lzma", "format": 1, "check": 1, "preset": 1, "filters": None}, pieces=2)
    by_numcodecs("lzma-alone", {"id": "lzma", "format": 2, "check": -1, "preset": 1, "filters": None})
    by_numcodecs("lzma-raw", {"id": "lzma", "format": 3, "check": -1, "preset": None,
                              "filters": [{"id": 3, "dist": 4}, {"id": 33, "preset": 1}]})
    by_numcodecs("lzma-raw1", {"id": "lzma", "format": 3, "check": -1, "preset": None,
                               "filters": [{"id": 0x4000000000000001, "preset": 1}]})
    by_numcodecs("crc32", {"id": "crc32"}, count=30)
    by_numcodecs("adler32", {"id": "adler32"}, count=30)
    by_numcodecs("base64", {"id": "base64"}, count=31, size=1)

    plain = values(31, 1).tobytes()
    write("crc32c", "crc32c", {"id": "crc32c"}, 1, 31, plain + struct.pack("<I", sum_crc32c(plain)))
    for count in 30, 31:
        data = stored_by_hdf5(values(count, 1), fletcher32=True)
        write("fletcher32-%d" % count, "fletcher32", {"id": "fletcher32"}, 1, count, data)
    write("fletcher32-4", "fletcher32", {"id": "fletcher32"}, 4, 500, stored_by_hdf5(values(500, 4), fletcher32=True))
    if h5py.h5z.filter_avail(h5py.h5z.FILTER_SZIP):
        for size, block, how in (1, 8, "nn"), (2, 16, "ec"), (4, 8, "nn"), (4, 10, "ec"), (8, 32, "nn"):
            mask = 32 if how == "nn" else 4
            data = stored_by_hdf5(values(333, size), compression="szip", compression_opts=(how, block))
            write("szip-%d-%d-%s" % (size, block, how), "szip", {"id": "szip", "mask": mask, "pixels-per-block": block},
                  size, 333, data)


main()

#!/usr/bin/env python3
"""icechunk_large.py make DIR | read FILE: an Icechunk repository of one array of bytes, in 1.1 million chunks of 4096 each, whose references are one manifest of 57 MB, compressed
as writers do. Chunk i begins at byte i % 1000 of the one chunk object, whose bytes are n % 251.
`read` reads 30,000 chunks of it, in an order that nothing foresees, and compares them."""
import os
import struct
import sys

import numcodecs
import numpy as np

import icechunk_files as files

COUNT, PERIOD, CHUNK = 1100000, 1000, 4096
RECORD = np.dtype([("vtable", "<i4"), ("index", "<u4"), ("offset", "<u8"), ("length", "<u8"), ("chunk", "V12"), ("one", "<u4"), ("i", "<u4"), ("pad", "<u4")])


def references(ident, node, chunk):
    """The payload of the manifest: tables of references like one another, behind the description that they share."""
    entries = [4, 0, 8, 16, 24]  # of index, inline, offset, length and id in a record
    head = bytearray(struct.pack("<I4s", 0, b"Ichk"))
    vtables = {}
    for name, at, size in (("root", [4, 16], 20), ("array", [4, 12], 16), ("ref", entries, 36)):
        head += bytes(-len(head) % 8)
        vtables[name] = len(head)
        head += struct.pack("<HH%dH" % len(at), 4 + 2 * len(at), size, *at)
    head += bytes(-len(head) % 8)
    root = len(head)
    head += struct.pack("<i12sI", root - vtables["root"], ident, 4) + struct.pack("<II", 1, 4)
    array = len(head)
    head += struct.pack("<i8sI", array - vtables["array"], node, 4) + struct.pack("<I", COUNT)
    struct.pack_into("<I", head, 0, root)
    first = len(head)
    at = first + 4 * COUNT
    at += -at % 8
    refs, i = np.zeros(COUNT, RECORD), np.arange(COUNT)
    where = at + RECORD.itemsize * i
    refs["vtable"], refs["index"], refs["one"], refs["i"] = where - vtables["ref"], 32, 1, i
    refs["offset"], refs["length"], refs["chunk"] = i % PERIOD, CHUNK, np.void(chunk)
    return bytes(head) + (where - (first + 4 * i)).astype("<u4").tobytes() + bytes(at - first - 4 * COUNT) + refs.tobytes()


def read(file):
    chunks = np.random.default_rng(1).permutation(COUNT)[:30000]
    data = bytes(n % 251 for n in range(PERIOD + CHUNK))
    for i in chunks.tolist():
        if os.pread(int(file), CHUNK, i * CHUNK) != data[i % PERIOD:i % PERIOD + CHUNK]:
            raise SystemExit("chunk %d is another" % i)


def make(top):
    manifest, snapshot, chunk, node = (files.ident(k, 1) for k in ("mani", "snap", "chun", "node"))
    node = node[:8]
    path = "%s/manifests/%s" % (top, files.text_of(manifest))
    packed = numcodecs.Zstd(1).encode(references(manifest, node, chunk))
    files.write(path, files.MAGIC + b"zarrfs's test".ljust(24) + bytes([2, 2, 1]) + packed)
    files.write("%s/chunks/%s" % (top, files.text_of(chunk)), bytes(n % 251 for n in range(PERIOD + CHUNK)))
    doc = files.doc([COUNT * CHUNK], [CHUNK]).replace(b"int32", b"uint8").replace(b"-1", b"0")
    table, blob = files.Table, files.Blob
    data = table({0: files.Structs(), 2: [table({0: manifest, 1: files.Structs([struct.pack("<II", 0, COUNT)])})], 3: [table({0: ("u64", COUNT * CHUNK), 1: ("u32", COUNT)})]})
    nodes = [table({0: files.ident("root", 1, 8), 1: blob(b"/"), 2: blob(b'{"zarr_format":3,"node_type":"group"}'), 3: ("u8", 2), 4: table()}),
             table({0: node, 1: blob(b"/a"), 2: files.Blob(doc), 3: ("u8", 1), 4: data})]
    info = [table({0: manifest, 1: ("u64", 39 + len(packed)), 2: ("u32", COUNT)})]
    files.write_file("%s/snapshots/%s" % (top, files.text_of(snapshot)), 1, 2, table({
        0: snapshot, 2: nodes, 3: ("u64", 1767225600000000), 4: blob(b"large"), 5: [], 6: files.Structs(), 7: info}))
    files.write_file(top + "/repo", 6, 2, table({
        0: ("u8", 2), 1: [], 2: [table({0: blob(b"main"), 1: ("u32", 0)})], 3: [],
        4: [table({0: snapshot, 1: ("i32", -1), 2: ("u64", 1767225600000000), 3: blob(b"large")})], 5: table({0: ("u8", 0), 1: ("u64", 0)}), 7: []}))


{"make": make, "read": read}[sys.argv[1]](sys.argv[2])

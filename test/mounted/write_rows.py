"""write_rows.py make STORE: a Zarr V3 store: a of big-endian numbers, b in shards behind a checksum, c in rows; all grow with time.
write_rows.py run MOUNT WANT: writes to them, and leaves in WANT what they must be."""

import json
import os
import sys
import time

import zarr3

ROWS, X, ITEM = 9, 6, 4
ROW = {"a": X * ITEM, "b": ITEM, "c": X * ITEM}
CRC = {"name": "crc32c"}


def make(store):
    shards = [zarr3.sharding([2], [zarr3.BIG, CRC], start=True), CRC]
    documents = {"": zarr3.group(),
                 "a": zarr3.array((ROWS, X), (4, X), "uint32", 0x01020304, [zarr3.BIG], dims=["time", "x"]),
                 "b": zarr3.array((ROWS,), (4,), "uint32", 5, shards, dims=["time"]),
                 "c": zarr3.array((ROWS, X), (2, X), "uint32", 6, [zarr3.LITTLE], dims=["time", "x"])}
    for name, document in documents.items():
        os.makedirs(os.path.join(store, name), exist_ok=True)
        with open(os.path.join(store, name, "zarr.json"), "w", encoding="utf8") as file:
            json.dump(document, file)


def run(mount, want):
    def path(name):
        return os.path.join(mount, name)

    fill = {"a": 0x01020304, "b": 5, "c": 6}
    fill = {name: value.to_bytes(ITEM, sys.byteorder) for name, value in fill.items()}
    model = {name: bytearray(fill[name] * (ROWS * ROW[name] // ITEM)) for name in fill}

    def put(fd, name, off, data):
        assert os.pwrite(fd, data, off) == len(data)
        model[name][off:off + len(data)] = data

    def rows(n):
        for name, bytes_of in model.items():
            del bytes_of[n * ROW[name]:]
            bytes_of += fill[name] * ((n * ROW[name] - len(bytes_of)) // ITEM)

    def check(what):
        for name, bytes_of in model.items():
            with open(path(name), "rb") as file:
                got = file.read()
            assert got == bytes(bytes_of), "%s: %s is %s, not %s" % (what, name, got.hex(), bytes_of.hex())

    # bytes that wait in chunks of which some are beside what is appended
    fd = os.open(path("b"), os.O_RDWR)
    put(fd, "b", 0, b"\x11" * ROWS * ITEM)
    os.fsync(fd)
    put(fd, "b", 15, b"\x22" * 21)
    rows(ROWS + 3)
    put(fd, "b", (ROWS + 3) * ITEM, b"\x33" * ITEM)
    os.close(fd)
    rows(ROWS + 4)
    check("a row appended in shards")
    # bytes that wait in one variable while another makes both shorter
    for name in ("c", "b"):
        fd = os.open(path(name), os.O_RDWR)
        put(fd, name, 3, b"\x44" * 30)
        os.truncate(path("a"), 8 * ROW["a"])
        rows(8)
        os.fsync(fd)
        os.close(fd)
        check("fewer rows while %s waits" % name)
        os.truncate(path("a"), 11 * ROW["a"])
        rows(11)
    # the last close completes an element whose first bytes are there
    fd = os.open(path("a"), os.O_RDWR)
    rows(12)
    put(fd, "a", 11 * ROW["a"], b"\x55" * (ITEM + 1))
    os.close(fd)
    end = time.monotonic() + 60
    while any(os.path.getsize(path(name)) != len(model[name]) for name in model) and time.monotonic() < end:
        time.sleep(0.01)
    check("an element in part")
    os.mkdir(want)
    for name, bytes_of in model.items():
        with open(os.path.join(want, name), "wb") as file:
            file.write(bytes_of)


if sys.argv[1] == "make":
    make(sys.argv[2])
else:
    run(*sys.argv[2:])

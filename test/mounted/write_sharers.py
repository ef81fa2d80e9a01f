"""write_sharers.py make STORE: a Zarr V3 store in which time, a and b have as many rows of `time`, and monthly has fewer of its own.
write_sharers.py run STORE FIRST SECOND: rows come in two mounts of it while another writer is between two of its edits."""

import json
import os
import sys
import threading
import time

import as_v3
import zarr3

ROWS, X, ITEM, HOUR = 3, 6, 4, 3600
ROW = {"time": ITEM, "a": X * ITEM, "b": ITEM}


def document(store, name):
    return os.path.join(store, name, "zarr.json")


def make(store):
    shapes = {"time": (ROWS,), "a": (ROWS, X), "b": (ROWS,), "monthly": (2,)}
    as_v3.save(document(store, ""), zarr3.group())
    for name, shape in shapes.items():
        dims = ["time", "x"][:len(shape)]
        as_v3.save(document(store, name), zarr3.array(shape, (2,) + shape[1:], "uint32", 7, [zarr3.LITTLE], dims=dims))
        old = time.time() - HOUR
        os.utime(document(store, name), (old, old))


def length(store, name):
    return as_v3.load(document(store, name))["shape"][0]


def lengthen(store, name, rows):
    """As another writer does."""
    was = as_v3.load(document(store, name))
    if was["shape"][0] < rows:
        was["shape"][0] = rows
        as_v3.save(document(store, name), was)


def refresh(mount):
    with open(os.path.join(mount, ".zarrfs", "refresh"), encoding="utf8") as file:
        file.read()


def write(mount, name, row, rows=1):
    fd = os.open(os.path.join(mount, name), os.O_RDWR)
    data = b"\x11" * (rows * ROW[name])
    assert os.pwrite(fd, data, row * ROW[name]) == len(data)
    os.close(fd)


def check(what, store, rows, monthly=2):
    want = {"time": rows, "a": rows, "b": rows, "monthly": monthly}
    got = {name: length(store, name) for name in want}
    if got != want:
        sys.exit("%s: lengths are %s, not %s" % (what, json.dumps(got), json.dumps(want)))


def run(store, first, second):
    write(first, "a", 3)
    check("a row", store, 4)
    lengthen(store, "b", 6)
    refresh(first)
    write(first, "time", 4)
    check("one that shares the dimension is ahead", store, 6)
    lengthen(store, "time", 7)
    refresh(first)
    write(first, "a", 6, 2)
    check("one that shares it is behind", store, 8)

    def go_on():
        for name in ("a", "b"):
            lengthen(store, name, 9)

    lengthen(store, "time", 9)
    timer = threading.Timer(0.3, go_on)
    timer.start()
    write(second, "a", 8, 2)
    timer.join()
    check("a mount that sees them for the first time", store, 10)
    with open(os.path.join(first, "monthly"), "ab") as file:
        file.write(b"\x22" * ITEM)
    check("a month", store, 10, 3)
    write(second, "b", 10)
    check("a row after it", store, 11, 3)


{"make": make, "run": run}[sys.argv[1]](*sys.argv[2:])

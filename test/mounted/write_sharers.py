"""write_sharers.py make STORE: a Zarr V3 store in which time, a and b have as many rows of `time`, and monthly has fewer of its own.
write_sharers.py run STORE FIRST SECOND: rows come in two mounts of it while another writer is between two of its edits.
write_sharers.py make-others STORE: one with a and b, c and d, and m, of three lengths.
write_sharers.py run-others STORE MOUNT: rows come and go, and another writer changes what there is; its timeout= is a few seconds."""

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
    timer = threading.Timer(3, go_on)  # it waits for its disk
    timer.start()
    write(second, "a", 8, 2)
    timer.join()
    check("a mount that sees them for the first time", store, 10)
    with open(os.path.join(first, "monthly"), "ab") as file:
        file.write(b"\x22" * ITEM)
    check("a month", store, 10, 3)
    write(second, "b", 10)
    check("a row after it", store, 11, 3)


def put(store, name, rows):
    as_v3.save(document(store, name), zarr3.array((rows,), (2,), "uint32", 7, [zarr3.LITTLE], dims=["time"]))
    old = time.time() - HOUR
    os.utime(document(store, name), (old, old))


def make_others(store):
    as_v3.save(document(store, ""), zarr3.group())
    for name, rows in ("a", 4), ("b", 4), ("c", 10), ("d", 10), ("m", 3):
        put(store, name, rows)


def append(mount, name):
    with open(os.path.join(mount, name), "ab") as file:
        file.write(b"\x33" * ITEM)


def check_lengths(what, store, **want):
    got = {name: length(store, name) for name in want}
    if got != want:
        sys.exit("%s: lengths are %s, not %s" % (what, json.dumps(got), json.dumps(want)))


def run_others(store, mount):
    append(mount, "a")
    check_lengths("of three lengths", store, a=5, b=5, c=10, d=10, m=3)
    lengthen(store, "c", 12)
    timer = threading.Timer(0.5, lengthen, (store, "d", 12))
    timer.start()
    refresh(mount)
    append(mount, "c")
    timer.join()
    check_lengths("two that were not compared before", store, a=5, c=13, d=13)
    lengthen(store, "b", 8)
    refresh(mount)
    os.truncate(os.path.join(mount, "a"), 2 * ITEM)
    check_lengths("shorter than what another writer appended", store, a=2, b=2, c=13)
    put(store, "b", 1)
    refresh(mount)
    append(mount, "a")
    check_lengths("an array in the place of one that shared it", store, a=3, b=1)
    stop = threading.Event()

    def restless():
        while not stop.wait(0.3):
            lengthen(store, "m", length(store, "m") + 1)

    thread = threading.Thread(target=restless)
    thread.start()
    began = time.monotonic()
    append(mount, "b")
    took = time.monotonic() - began
    stop.set()
    thread.join()
    check_lengths("beside one that changes all the time", store, a=3, b=2)
    if took > 30:
        sys.exit("a row beside an array that changes all the time takes %.0f s" % took)
    append(mount, "b")  # m is its own from now on
    began = time.monotonic()
    append(mount, "b")
    took = time.monotonic() - began
    if took > 3:
        sys.exit("a row beside an array that changed lately takes %.1f s again" % took)


{"make": make, "run": run, "make-others": make_others, "run-others": run_others}[sys.argv[1]](*sys.argv[2:])

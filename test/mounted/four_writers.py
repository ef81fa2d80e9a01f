"""four_writers.py make STORE: a group with four variables that share an unlimited time, with NCZarr's metadata in Zarr V2.
four_writers.py run MOUNT OTHER: a writer for each variable, two in either mount, appends rows: `rows` of the same numbers as the others', each at its offset;
then `more` with O_APPEND, each behind what there is of any variable then.
four_writers.py check STORE|s3:KEY MOUNT: they are all there, and every variable is as long as time."""

import json
import os
import sys
import threading

import numpy as np
import zarr

import as_v3
import bucket
import stores

FIRST, ROWS, MORE, FILL = 3, 10, 6, -1
VARIABLES = {"time": ((), (4,)), "a": ((50,), (2, 20)), "b": ((4,), (2, 4)), "d": ((30,), (3, 30))}  # name → shape of a row, chunks


def make(path):
    v2 = path if stores.FORM == "v2" else path + ".v2"
    store = zarr.DirectoryStore(v2)
    group = zarr.open_group(store, "w")
    for name, (row, chunks) in VARIABLES.items():
        a = group.create_dataset(name, shape=(FIRST,) + row, chunks=chunks, dtype="<i4", fill_value=FILL)
        a[...] = np.arange(a.size).reshape(a.shape)
        dims = ["time"] + ["%s_%d" % (name, n) for n in row]
        a.attrs["_ARRAY_DIMENSIONS"] = dims
        if stores.FORM == "v2":
            a.attrs["_nczarr_array"] = {"dimension_references": ["/" + d for d in dims], "storage": "chunked"}
    if stores.FORM != "v2":
        return as_v3.copy_store(v2, path, True)
    sizes = {"%s_%d" % (name, n): n for name, (row, _) in VARIABLES.items() for n in row}
    group.attrs["_nczarr_group"] = {"dimensions": {"time": {"size": FIRST, "unlimited": 1}, **sizes}, "arrays": list(VARIABLES), "groups": []}
    group.attrs["_nczarr_superblock"] = {"version": "2.0.0"}
    return zarr.consolidate_metadata(store)


def row_of(name, number):
    row = VARIABLES[name][0]
    return np.full(row, 1000 * list(VARIABLES).index(name) + number, "<i4").tobytes()


def write(mount, name, failed):
    path = os.path.join(mount, name)
    size = len(row_of(name, 0))
    try:
        for k in range(FIRST, FIRST + ROWS):
            fd = os.open(path, os.O_RDWR)
            assert os.pwrite(fd, row_of(name, k), k * size) == size
            os.close(fd)
        for k in range(FIRST + ROWS, FIRST + ROWS + MORE):
            fd = os.open(path, os.O_WRONLY | os.O_APPEND)
            assert os.write(fd, row_of(name, k)) == size
            os.close(fd)
    except (OSError, AssertionError) as e:
        failed.append("%s, row %d: %s" % (name, k, e))


def run(*mounts):
    failed = []
    threads = [threading.Thread(target=write, args=(mounts[i % 2], name, failed)) for i, name in enumerate(VARIABLES)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    sys.exit("\n".join(failed) or None)


def check(store, mount):
    stored, length, bad = None, None, []
    if store.startswith("s3:"):
        stored = bucket.Stored(store[3:])
        stored.look()
    for name in VARIABLES:
        a = stored.array(name) if stored else stores.values(store, name)
        length = length or len(a)
        if len(a) != length:
            bad.append("%s has %d rows, time has %d" % (name, len(a), length))
        rows = a.reshape(len(a), -1)
        want = [np.frombuffer(row_of(name, k), "<i4").tolist() for k in range(FIRST, FIRST + ROWS + MORE)]
        if rows[FIRST:FIRST + ROWS].tolist() != want[:ROWS]:
            bad.append("%s, at their offsets: %s" % (name, rows[FIRST:FIRST + ROWS, 0]))
        behind = [row for row in rows[FIRST + ROWS:].tolist() if set(row) != {FILL}]
        if behind != want[ROWS:]:
            bad.append("%s, appended: %s" % (name, rows[FIRST + ROWS:, 0]))
        with open(os.path.join(mount, name), "rb") as file:
            if file.read() != a.astype("<i4").tobytes():
                bad.append("%s is shown otherwise than it is stored" % name)
    if stores.FORM == "v2":
        attributes = json.loads(stored.content[".zattrs"]) if stored else as_v3.load(os.path.join(store, ".zattrs"))
        if attributes["_nczarr_group"]["dimensions"]["time"]["size"] != length:
            bad.append("NCZarr's time is %s, not %d" % (attributes["_nczarr_group"]["dimensions"]["time"], length))
    sys.exit("\n".join(bad) or None)


if __name__ == "__main__":
    {"make": make, "run": run, "check": check}[sys.argv[1]](*sys.argv[2:])

"""stale.py make STORE: arrays with coordinates and consolidated metadata, which then are rewritten with other codecs and chunks, while the
consolidated metadata stay as they were. stale.py begin STORE, stale.py rewrite STORE: the two halves of that
stale.py check FILE [ATTEMPTS]: the netCDF file shows the new ones, at that attempt at the latest"""

import sys

import netCDF4
import numpy as np
import zarr

import stores

OLD = stores.field((64, 64, 16), "<f4")
AXES = (("z", 64), ("y", 64), ("x", 16))
CODEC, CHUNKS = {"compressor": stores.ZSTD, "chunks": (8, 64, 16)}, {"compressor": None, "chunks": (16, 32, 16)}
MADE = {"compressor": None, "chunks": (8, 64, 16)}
NEW = {"a": CODEC, "b": CHUNKS, "c": CODEC}
OTHERS = 40


def put(store, by, how):
    for name, n in AXES:
        stores.put(store, name, np.arange(n, dtype="<f8") + by, {"_ARRAY_DIMENSIONS": [name]}, chunks=(n,), compressor=how("a")["compressor"])
    for name in NEW:
        stores.put(store, name, OLD + by, {"_ARRAY_DIMENSIONS": [name for name, _ in AXES]}, **how(name))


def begin(store):
    put(store, 0, lambda name: MADE)
    for k in range(OTHERS):
        stores.put(store, "other%02d" % k, np.zeros(4, "<f4"), {"_ARRAY_DIMENSIONS": ["q"]}, chunks=(4,), compressor=None)
    if stores.FORM == "v2":
        zarr.open_group(store, "a")
    stores.consolidate(store)


def values(path):
    with netCDF4.Dataset(path) as nc:
        nc.set_auto_mask(False)
        return {name: nc[name][...] for name in nc.variables}


def check(path, attempts):
    at, got = stores.Check(), None
    for k in range(attempts):
        try:
            got = values(path)
            break
        except (OSError, RuntimeError) as error:
            print("attempt %d of %s: %s" % (k + 1, path, error))
    at.that(got, "%s cannot be read by attempt %d" % (path, attempts))
    for name, have in (got or {}).items():
        new = dict(AXES).get(name)
        want = np.arange(new) + 1 if new else OLD + 1 if name in NEW else np.zeros(4)
        at.that(np.array_equal(have, want), "'%s' of %s is not as it was written last" % (name, path))
    at.end()


if sys.argv[1] == "check":
    check(sys.argv[2], int(sys.argv[3]) if len(sys.argv) > 3 else 1)
if sys.argv[1] in ("make", "begin"):
    begin(sys.argv[2])
if sys.argv[1] in ("make", "rewrite"):
    put(sys.argv[2], 1, NEW.get)

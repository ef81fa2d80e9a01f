"""write_crash.py make STORE: two arrays of numbers, of Zarr V2 or as STORES_FORM says.
write_crash.py run MOUNT LEFT FROM: writes numbers above FROM to both at random until the mount dies, four writers at once, half of a chunk each time; says
`begun` when all do. LEFT gets, for each half of a chunk, whether one was stored for certain, the least that may be there then, and the last that was written.
write_crash.py check STORE|s3:KEY LEFT MOUNT: each half of a chunk in STORE, and in MOUNT, has one number, no older than the one that was stored."""

import json
import os
import random
import sys
import threading
import zipfile

import numcodecs
import numpy as np

import as_v3
import bucket
import stores

CHUNK, CHUNKS, WRITERS = 64, 64, 4
HALF = CHUNK // 2
NAMES = {"a": numcodecs.GZip(1), "bb": None}  # of V3 the one's index is at the start, the other's at the end


def make(store):
    folder = store.removesuffix(".zip")
    for name, compressor in NAMES.items():
        stores.put(folder, name, np.zeros(CHUNK * CHUNKS, "<i4"), chunks=CHUNK, compressor=compressor, fill_value=-1)
        if stores.FORM == "shards":  # two chunks in a shard are too few
            wide(folder, name)
    stores.consolidate(folder)
    if folder != store:
        with zipfile.ZipFile(store, "w") as archive:
            for at, _, files in os.walk(folder):
                for file in files:
                    archive.write(os.path.join(at, file), os.path.relpath(os.path.join(at, file), folder))


def wide(folder, name):
    path = os.path.join(folder, name)
    document = as_v3.load(os.path.join(path, "zarr.json"))
    document["chunk_grid"]["configuration"]["chunk_shape"] = [CHUNK * CHUNKS // 4]
    as_v3.save(os.path.join(path, "zarr.json"), document)
    for at in range(4, CHUNKS // 2):
        os.unlink(os.path.join(path, "c", str(at)))
    codec = NAMES[name]
    zeros = np.zeros(CHUNK, "<i4").tobytes()
    as_v3.put_chunks(path, document, {(i,): codec.encode(zeros) if codec else zeros for i in range(CHUNKS)})


class Writer(threading.Thread):
    """Of every WRITERS-th half of a chunk."""

    def __init__(self, mount, number, last):
        super().__init__()
        self.mount, self.number, self.last, self.rng = mount, number, last, random.Random()
        self.first, self.stored, self.written, self.begun = {}, {}, {}, threading.Event()

    def run(self):
        try:
            self.write()
        except OSError:
            pass
        self.begun.set()

    def write(self):
        number = self.last
        while True:
            name, waiting = self.rng.choice(list(NAMES)), {}
            fd = os.open(os.path.join(self.mount, name), os.O_RDWR)
            try:
                for _ in range(self.rng.randrange(1, 6)):
                    half, number = self.rng.randrange(self.number, 2 * CHUNKS, WRITERS), number + 1
                    self.first.setdefault((name, half), number)
                    self.written[name, half] = waiting[name, half] = number
                    os.pwrite(fd, np.full(HALF, number, "<i4").tobytes(), 4 * HALF * half)
                if self.rng.randrange(2):
                    os.fsync(fd)
                    self.stored.update(waiting)
            finally:
                os.close(fd)
            self.stored.update(waiting)
            self.begun.set()


def run(mount, left, last):
    writers = [Writer(mount, i, int(last)) for i in range(WRITERS)]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.begun.wait()
    print("begun", flush=True)
    for writer in writers:
        writer.join()
    said = {}
    for writer in writers:
        for (name, half), number in writer.written.items():
            stored = writer.stored.get((name, half))
            said.setdefault(name, {})[half] = [bool(stored), stored or writer.first[name, half], number]
    with open(left, "w", encoding="utf8") as file:
        json.dump(said, file)


def values(store, name):
    if store.startswith("s3:"):
        stored = bucket.Stored(store[3:])
        stored.look()
        return stored.array(name)
    if not store.endswith(".zip"):
        return stores.values(store, name)
    with zipfile.ZipFile(store) as archive:
        assert archive.testzip() is None
        content = {key: archive.read(key) for key in archive.namelist()}
    if stores.FORM == "v2":
        import zarr
        return zarr.open_group(content, "r")[name][...]
    return as_v3.values(content.get, name)


def check(store, left, mount):
    known, check = as_v3.load(left + ".known") or {}, stores.Check()
    for name in NAMES:
        halves = values(store, name).reshape(-1, HALF)
        check.bytes("%s in the mount" % name, stores.read(os.path.join(mount, name)), halves.astype("<i4").tobytes())
        said, before = as_v3.load(left).get(name, {}), known.setdefault(name, [0] * len(halves))
        for half, numbers in enumerate(halves):
            stored, least, written = said.get(str(half), (False, 0, -1))
            first = int(numbers[0])
            check.that((numbers == first).all(), "half %d of %s is torn: %s" % (half, name, numbers))
            good = least <= first <= written or (not stored and first == before[half])
            check.that(good, "half %d of %s is %d, not %d (stored: %s) to %d; before %d" % (half, name, first, least, stored, written, before[half]))
            before[half] = first
    as_v3.save(left + ".known", known)
    check.end()


{"make": make, "run": run, "check": check}[sys.argv[1]](*sys.argv[2:])

"""shards.py make FOLDER: a Zarr V3 store of sharded arrays; shards.py check MOUNT: compares them; shards.py page FILE T Y: compares the
page of a file in which this row of an inner chunk begins, around the page cache
shards.py series FILE Y: these pages at all times; shards.py map FILE T: one time, at once
shards.py dense FOLDER: adds a shard with an index of 4 MiB; shards.py few FILE: some of its values, and then all
shards.py apart FILE CODE: at once, eight chunks of the last shard of `v` or `bad`, each of which gives that error
shards.py value FILE T Y X: one value of `far`; shards.py step FILE T: one of its maps; shards.py all FILE: everything, in order
shards.py damage FOLDER: shards of `bad` and `into` are made wrong; shards.py partly MOUNT: what of them can be read, and what says why not
shards.py write FOLDER SECONDS: a shard of `moving` is replaced by another again and again, by rename
shards.py read FILE SECONDS: reads it again and again: all of it is of one shard, in each read"""

import gzip
import json
import mmap
import os
import struct
import sys
import threading
import time

import numcodecs
import numpy as np

import stores
from zarr3 import LITTLE, ZIP, array, crc32c, group, shard, sharding, vlen

SHAPE, SHARD, INNER = (16, 64, 64), (8, 32, 64), (2, 16, 64)  # a page is a row of an inner chunk
DEEP, HALF = (64, 64, 64), (32, 64, 64)  # a shard of two shards of 64 chunks
LINES = (16, 16, 64)  # all of some rows
# of weather, as hourly analyses have it, of which these are a few hours: a page of the file holds a row of the 20 columns of chunks, which lie in their
# shard as zarr-python 3 lays them
FAR, WIDE, PILLAR = (8, 540, 900), (8, 540, 450), (8, 45, 45)
BLOSC = {"name": "blosc", "configuration": {"cname": "zstd", "clevel": 3, "shuffle": "shuffle", "typesize": 4, "blocksize": 0}}
WEATHER = (stores.field(FAR, "<f4") // 7).astype("<f4")
VALUES, NESTED = stores.field(SHAPE, "<f4"), stores.field(DEEP, "<f4")
ROW = INNER[1] * INNER[2] * 4
TEXTS = ["%d \u00e9" % (k * k * k) for k in range(1000)]


def boxes(whole, part):
    return [(t, y) for t in range(0, whole[0], part[0]) for y in range(0, whole[1], part[1])]


def cut(values, at, size):
    return np.ascontiguousarray(values[at[0]:at[0] + size[0], at[1]:at[1] + size[1]])


def key(at):
    return "c/%d/%d/0" % (at[0] // SHARD[0], at[1] // SHARD[1])


def stored(values):
    return shard([gzip.compress(cut(values, at, INNER).tobytes()) for at in boxes(SHARD, INNER)])


def put(folder, name, content):
    path = os.path.join(folder, name)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path + ".new", "wb") as file:
        file.write(content)
    os.rename(path + ".new", path)


def make(folder):
    document = array(SHAPE, SHARD, codecs=[sharding(INNER, [LITTLE, ZIP])], dims=["t", "y", "x"])
    put(folder, "zarr.json", json.dumps(group()).encode())
    for name in "v", "bad", "into", "moving":
        put(folder, name + "/zarr.json", json.dumps(document).encode())
        for at in boxes(SHAPE, SHARD):
            values = np.ones(SHARD, "<f4") if name == "moving" else cut(VALUES, at, SHARD)
            put(os.path.join(folder, name), key(at), stored(values))
    put(folder, "nested/zarr.json", json.dumps(array(DEEP, DEEP, codecs=[sharding(HALF, [sharding(INNER, [LITTLE, ZIP])])])).encode())
    halves = [cut(NESTED, at, HALF) for at in boxes(DEEP, HALF)]
    put(folder, "nested/c/0/0/0", shard([shard([gzip.compress(cut(half, at, INNER).tobytes()) for at in boxes(HALF, INNER)]) for half in halves]))
    put(folder, "series/zarr.json", json.dumps(array(SHAPE, SHAPE, codecs=[sharding(LINES, [LITTLE, ZIP])])).encode())
    put(folder, "series/c/0/0/0", shard([gzip.compress(cut(VALUES, at, LINES).tobytes()) for at in boxes(SHAPE, LINES)]))
    put(folder, "far/zarr.json", json.dumps(array(FAR, WIDE, codecs=[sharding(PILLAR, [LITTLE, BLOSC])])).encode())
    for i in 0, 1:
        put(folder, "far/c/0/0/%d" % i, far(450 * i))
    put(folder, "texts/zarr.json", json.dumps(array([1000], [500], "string", fill="none", codecs=[sharding([100], [{"name": "vlen-utf8"}, ZIP])])).encode())
    for i in 0, 500:  # the chunk of texts from 300 on is missing
        put(folder, "texts/c/%d" % (i // 500), shard([None if k == 300 else gzip.compress(vlen(TEXTS[k:k + 100])) for k in range(i, i + 500, 100)]))


def morton(y, x):
    return sum((y >> bit & 1) << 2 * bit + 1 | (x >> bit & 1) << 2 * bit for bit in range(8))


def far(columns):
    """A shard whose chunks stand in Morton's order, with an index in that of C."""
    places = [(y, x) for y in range(12) for x in range(10)]
    pieces = [WEATHER[:, 45 * y:45 * y + 45, columns + 45 * x:columns + 45 * x + 45] for y, x in places]
    bodies = [numcodecs.blosc.compress(np.ascontiguousarray(piece), b"zstd", 3, 1) for piece in pieces]
    index, data = [None] * len(places), b""
    for i in sorted(range(len(places)), key=lambda i: morton(*places[i])):
        index[i] = struct.pack("<QQ", len(data), len(bodies[i]))
        data += bodies[i]
    index = b"".join(index)
    return data + index + struct.pack("<I", crc32c(index))


def read_far(path, at, size):
    """As any program does; where the kernel cannot read past its pages and map the same file, with O_DIRECT."""
    old = [int(n) for n in os.uname().release.split(".")[:2]] < [6, 6]
    if old:
        return direct(path, at, size)
    file = os.open(path, os.O_RDONLY)
    try:
        return os.pread(file, size, at)
    finally:
        os.close(file)


def look_far(path, where):
    at = sum(n * step for n, step in zip(where, (FAR[1] * FAR[2], FAR[2], 1)))
    size = 1 if len(where) == 3 else FAR[1] * FAR[2]
    check = stores.Check()
    check.bytes("far at %s" % where, read_far(path, 4 * at, 4 * size), WEATHER.tobytes()[4 * at:4 * (at + size)])
    check.end()


def check(mount):
    check = stores.Check()
    for name, values in ("v", VALUES), ("nested", NESTED), ("series", VALUES):
        check.bytes(name, stores.read(os.path.join(mount, name)), values.tobytes())
    texts = np.char.encode(TEXTS[:300] + ["none"] * 100 + TEXTS[400:], "utf8")
    check.bytes("texts", stores.read(os.path.join(mount, "texts")), texts.tobytes())
    check.end()


def direct(path, at, size=ROW):
    with mmap.mmap(-1, size) as memory:  # page-aligned, as direct I/O wants it
        file = os.open(path, os.O_RDONLY | os.O_DIRECT)
        try:
            return memory[:os.preadv(file, [memory], at)]
        finally:
            os.close(file)


def page(path, t, y):
    values = NESTED if path.endswith("nested") else VALUES
    at = (t * SHAPE[1] + y * INNER[1]) * SHAPE[2] * 4
    check = stores.Check()
    check.bytes("t %d, y %d" % (t, y), direct(path, at), values.tobytes()[at:at + ROW])
    check.end()


def series(path, y):
    for t in range(SHAPE[0]):
        page(path, t, y)


def one_map(path, t):
    size = SHAPE[1] * SHAPE[2] * 4
    check = stores.Check()
    check.bytes("map %d" % t, direct(path, t * size, size), VALUES[t].tobytes())
    check.end()


def dense(folder):
    inner, n = [LITTLE], 1 << 18
    put(folder, "dense/zarr.json", json.dumps(array([n], [n], "int32", codecs=[sharding([1], inner, sums=0)])).encode())
    places = np.full((n, 2), 4, "<u8")
    places[:, 0] = 4 * np.arange(n)
    put(folder, "dense/c/0", np.arange(n, dtype="<i4").tobytes() + places.tobytes())


def few(path):
    check, n = stores.Check(), 1 << 18
    with open(path, "rb", buffering=0) as file:
        for k in [k * 77773 % n for k in range(100)]:
            check.bytes("value %d" % k, os.pread(file.fileno(), 4, 4 * k), struct.pack("<i", k))
    check.bytes("all values", stores.read(path), np.arange(n, dtype="<i4").tobytes())
    check.end()


def apart(path, code):
    check = stores.Check()
    steps = [((8 + t) * SHAPE[1] + y * INNER[1]) * SHAPE[2] * 4 for t in (0, 2, 4, 6) for y in (0, 1)]
    readers = [threading.Thread(target=check.error, args=("at %d" % at, code, direct, path, at)) for at in steps]
    for reader in readers:
        reader.start()
    for reader in readers:
        reader.join()
    check.end()


def damage(folder):
    name = os.path.join(folder, "bad", key((8, 0)))
    with open(name, "rb") as file:
        content = bytearray(file.read())
    content[-20] ^= 1  # of an entry, before the checksum
    put(folder, os.path.join("bad", key((8, 0))), bytes(content))
    inner = [gzip.compress(cut(VALUES, at, INNER).tobytes()) for at in boxes(SHARD, INNER)]
    good = shard(inner, sums=0)
    entry = len(good) - 16 * len(inner)
    # the first chunk is said to begin within the index
    put(folder, os.path.join("into", key((0, 0))), good[:entry] + struct.pack("<QQ", entry + 8, 9) + good[entry + 16:])
    document = array(SHAPE, SHARD, codecs=[sharding(INNER, [LITTLE, ZIP], sums=0)])
    put(folder, "into/zarr.json", json.dumps(document).encode())


def partly(mount):
    check = stores.Check()
    path = os.path.join(mount, "bad")
    for t, y in boxes((SHAPE[0], SHAPE[1] // INNER[1]), (1, 1)):
        at = (t * SHAPE[1] + y * INNER[1]) * SHAPE[2] * 4
        if t >= 8 and y < 2:
            check.error("bad at %d, %d" % (t, y), 5, direct, path, at)
        else:
            check.bytes("bad at %d, %d" % (t, y), direct(path, at), VALUES.tobytes()[at:at + ROW])
    check.that(b"checksum" in os.getxattr(path, "user.zarrfs.error"), "bad says %r" % os.getxattr(path, "user.zarrfs.error"))
    path = os.path.join(mount, "into")
    check.error("into its index", 5, direct, path, 0)
    check.that(b"in the shard's index" in os.getxattr(path, "user.zarrfs.error"), "into says %r" % os.getxattr(path, "user.zarrfs.error"))
    check.bytes("beside it", direct(path, ROW), VALUES.tobytes()[ROW:2 * ROW])
    check.end()


def write(folder, seconds):
    number, end = 1, time.monotonic() + seconds
    while time.monotonic() < end:
        number += 1
        put(os.path.join(folder, "moving"), key((0, 0)), stored(np.full(SHARD, number, "<f4")))
        time.sleep(0.003)


def read(path, seconds):
    check, seen, turn, end = stores.Check(), set(), 0, time.monotonic() + seconds
    while time.monotonic() < end and check.failed < 5:
        turn += 1
        with open(path, "rb") as file:
            values = np.frombuffer(file.read(), "<f4").reshape(SHAPE)[:8, :32]
        check.that(values.min() == values.max(), "a read gave both %d and %d" % (values.min(), values.max()))
        seen.add(int(values[0, 0, 0]))
    print("%d reads, %d versions seen" % (turn, len(seen)))
    check.that(len(seen) > 1, "only one version was ever seen")
    check.end()


if sys.argv[1] == "page":
    page(sys.argv[2], int(sys.argv[3]), int(sys.argv[4]))
elif sys.argv[1] in ("value", "step"):
    look_far(sys.argv[2], [int(n) for n in sys.argv[3:]])
elif sys.argv[1] == "all":
    far_check = stores.Check()
    far_check.bytes("far", stores.read(sys.argv[2]), WEATHER.tobytes())
    far_check.end()
elif sys.argv[1] in ("series", "map"):
    {"series": series, "map": one_map}[sys.argv[1]](sys.argv[2], int(sys.argv[3]))
elif sys.argv[1] == "apart":
    apart(sys.argv[2], int(sys.argv[3]))
elif sys.argv[1] in ("write", "read"):
    {"write": write, "read": read}[sys.argv[1]](sys.argv[2], float(sys.argv[3]))
else:
    {"make": make, "check": check, "damage": damage, "partly": partly, "dense": dense, "few": few}[sys.argv[1]](sys.argv[2])

"""write_two.py make STORE ROUNDS: two arrays, each of which lies in one object: a chunk of Zarr V2, or a shard of many where STORES_FORM says so.
write_two.py run FILE OTHER ROUNDS: two writers, one a mount, each store ROUNDS numbers, one at a time: the one in a shard's chunks with even numbers,
the other in those with odd ones; of `bb` both in every chunk. The same of `a_mapped` and `bb_mapped`, through mappings.
write_two.py check STORE|s3:KEY ROUNDS NAME: all of them are there."""

import mmap
import multiprocessing
import os
import struct
import sys

import numcodecs
import numpy as np

import as_v3
import bucket
import stores

CHUNK, EACH = 50, 10  # EACH numbers of a chunk are written
MAPPED = "_mapped"


def slots(name, writer, rounds):
    """Where a writer's numbers go."""
    if name.startswith("bb"):
        return [CHUNK * (k // EACH) + 2 * (k % EACH) + writer for k in range(rounds)]
    return [CHUNK * (2 * (k // EACH) + writer) + k % EACH for k in range(rounds)]


def make(store, rounds):
    count = CHUNK * 2 * -(-int(rounds) // EACH)
    for name in "a", "bb", "a" + MAPPED, "bb" + MAPPED:
        values = np.zeros(count, "<i4")
        stores.put(store, name, values, chunks=count if stores.FORM == "v2" else CHUNK, compressor=numcodecs.Zlib(1), fill_value=-1)
        if stores.FORM == "shards":
            one_shard(os.path.join(store, name), count)


def one_shard(path, count):
    for at in os.listdir(os.path.join(path, "c")):
        os.unlink(os.path.join(path, "c", at))
    document = as_v3.load(os.path.join(path, "zarr.json"))
    document["chunk_grid"]["configuration"]["chunk_shape"] = [count]
    as_v3.save(os.path.join(path, "zarr.json"), document)
    zeros = numcodecs.Zlib(1).encode(np.zeros(CHUNK, "<i4"))
    as_v3.put_chunks(path, document, {(i,): zeros for i in range(count // CHUNK)})


def write(path, writer, rounds):
    fd = os.open(path, os.O_RDWR)
    mapping = mmap.mmap(fd, 0) if path.endswith(MAPPED) else None
    for k, at in enumerate(slots(os.path.basename(path), writer, rounds)):
        if mapping:
            mapping[4 * at:4 * at + 4] = struct.pack("<i", k + 1)
            mapping.flush()
        else:
            assert os.pwrite(fd, struct.pack("<i", k + 1), 4 * at) == 4
            os.fsync(fd)
    if mapping:
        mapping.close()
    os.close(fd)


def run(path, other, rounds):
    writers = [multiprocessing.Process(target=write, args=(p, i, int(rounds))) for i, p in enumerate((path, other))]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join()
    sys.exit(any(writer.exitcode for writer in writers))


def check(store, rounds, name):
    if store.startswith("s3:"):
        stored = bucket.Stored(store[3:])
        stored.look()
        got = stored.array(name)
    else:
        got = stores.values(store, name)
    want, rounds = np.zeros(len(got), "<i4"), int(rounds)
    for writer in 0, 1:
        want[slots(name, writer, rounds)] = np.arange(1, rounds + 1)
    lost = np.flatnonzero(got != want)
    sys.exit("%s: %d of %d numbers are lost: %s" % (name, len(lost), 2 * rounds, lost[:20]) if len(lost) else None)


{"make": make, "run": run, "check": check}[sys.argv[1]](*sys.argv[2:])

"""versions.py make STORE: arrays of two chunks of 4 MiB, in the form of STORES_FORM; of `shards` both lie in one
versions.py replace ARRAY SECONDS: replaces the chunks by others every 20 ms, by rename
versions.py read FILE SECONDS [HOW...]: reads it in several ways at once (all, or those named), each in a process of its own; no read may
give some of one version of a chunk and some of another, and new versions must be seen in time"""

import mmap
import multiprocessing
import os
import signal
import sys
import tempfile
import time

import numcodecs
import numpy as np

import stores

CHUNK = (1, 1024, 1024)  # 4 MiB
SHAPE = (2, 1024, 1024)
BYTES = 4 << 20
LAYOUTS = {
    "raw": {"compressor": None},
    "zlib": {"compressor": stores.ZLIB},
    "shuffled": stores.SHUFFLED,
    "blosc": {"compressor": numcodecs.Blosc("lz4", 5, numcodecs.Blosc.SHUFFLE, 65536)},
    "lz4": {"compressor": stores.LZ4},
}
VERSIONS = 12
EVERY = 0.02
LATE = float(os.environ.get("VERSIONS_LATE", "6"))  # s: metadata_ttl=1, and time to come to the end of reads under way
GONE = os.environ.get("VERSIONS_GONE")  # reads may fail because the old version cannot be had any more
noise = np.random.default_rng(1).integers(0, 1 << 12, CHUNK, "<i4") << 8


def chunk(version):
    return noise + version


def make(store):
    for name, how in LAYOUTS.items():
        stores.put(store, name, np.concatenate([chunk(0), chunk(0)]), chunks=CHUNK, **how)


def replace(path, seconds):
    with tempfile.TemporaryDirectory() as folder:
        array = stores.put_v2(folder, "a", chunk(0), None, chunks=CHUNK, **LAYOUTS[os.path.basename(path)])
        stored = [stores.encoded(array, chunk(version)) for version in range(VERSIONS)]
    print("ready", flush=True)
    end, number = time.monotonic() + seconds, 0
    while time.monotonic() < end:
        number += 1
        stores.put_chunks(path, {(c, 0, 0): stored[(number + c) % VERSIONS] for c in range(2)})
        time.sleep(EVERY)


class Reader:
    """Checks what one process reads."""

    def __init__(self, how):
        self.how, self.bad, self.reads, self.seen = how, 0, 0, {}

    def fail(self, what):
        self.bad += 1
        print("FAILED: %.3f %s: %s" % (time.monotonic(), self.how, what), file=sys.stderr, flush=True)

    def check(self, got, at=0):
        """Bytes of one chunk from `at` on: one version?"""
        values = np.frombuffer(got, "<i4") - noise.reshape(-1)[at // 4:at // 4 + len(got) // 4]
        self.reads += 1
        if values.min() != values.max():
            change = int(np.argmax(values != values[0])) * 4 + at
            self.fail("%d: one read of %d bytes from %d on gave both version %d and, from byte %d on, %d"
                      % (os.getpid(), len(got), at, values[0], change, values[-1]))
        return int(values[0])

    def saw(self, chunk, version):
        now = time.monotonic()
        last, since = self.seen.get(chunk, (None, now))
        if version != last:
            self.seen[chunk] = version, now
        elif now - since > LATE:
            self.fail("chunk %d was of version %d for %.1f s" % (chunk, version, now - since))
            self.seen[chunk] = None, now

    def end(self):
        return self.bad


def whole(path, end, reader):
    """An open file, a chunk at a time."""
    file = os.open(path, os.O_RDONLY)
    while time.monotonic() < end and reader.bad < 5:
        for c in range(2):
            reader.saw(c, reader.check(os.pread(file, BYTES, c * BYTES)))
    os.close(file)


def parts(path, end, reader):
    """An open file, some of a chunk at a time, here and there."""
    file, random = os.open(path, os.O_RDONLY), np.random.default_rng(2)
    while time.monotonic() < end and reader.bad < 5:
        c, at = int(random.integers(2)), int(random.integers(BYTES // 4096)) * 4096
        got = os.pread(file, min(BYTES - at, int(random.integers(1, 400)) * 4096), c * BYTES + at)
        reader.saw(c, reader.check(got, at))
    os.close(file)


def passes(path, end, reader):
    """Opened each time and read in order: each chunk is of one version in one pass."""
    while time.monotonic() < end and reader.bad < 5:
        with open(path, "rb", buffering=0) as file:
            for c in range(2):
                got = b"".join(file.read(131072) for i in range(BYTES // 131072))
                reader.saw(c, reader.check(got))


def mapped(path, end, reader):
    """A mapping: page by page what there is."""
    with open(path, "rb") as file, mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ) as memory:
        while time.monotonic() < end:
            values = np.frombuffer(memory, "<i4")[::4096].copy()
            reader.reads += values.size > 0
            time.sleep(0.01)


def direct(path, end, reader):
    """Around the page cache."""
    memory, file = mmap.mmap(-1, BYTES), os.open(path, os.O_RDONLY | os.O_DIRECT)
    while time.monotonic() < end and reader.bad < 5:
        for c in range(2):
            reader.saw(c, reader.check(memory[:os.preadv(file, [memory], c * BYTES)]))
    os.close(file)


WAYS = {"whole": whole, "parts": parts, "passes": passes, "mapped": mapped, "direct": direct}


def run(how, path, seconds, bad):
    reader = Reader(how)
    try:
        WAYS[how](path, time.monotonic() + seconds, reader)
    except OSError as error:
        if not GONE:
            reader.fail("%s" % error)
    print("%s: %d reads" % (how, reader.reads), flush=True)
    if not reader.reads and not GONE:
        reader.fail("nothing was read")
    bad.value += reader.bad


def read(path, seconds, ways):
    bad = [multiprocessing.Value("i", 0) for how in ways]
    process = [multiprocessing.Process(target=run, args=(how, path, seconds, bad[i])) for i, how in enumerate(ways)]
    for p in process:
        p.start()
    for p in process:
        p.join()
    failed = [p for p in process if p.exitcode and not (GONE and p.exitcode == -signal.SIGBUS)]  # an error of a mapping is a signal
    sys.exit(bool(failed) or any(b.value for b in bad))


if __name__ == "__main__":
    if sys.argv[1] == "make":
        make(sys.argv[2])
    elif sys.argv[1] == "replace":
        replace(sys.argv[2], float(sys.argv[3]))
    else:
        read(sys.argv[2], float(sys.argv[3]), sys.argv[4:] or list(WAYS))

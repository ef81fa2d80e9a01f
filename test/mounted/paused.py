"""paused.py ARRAY FILE HOW: a reader in file order stops in the midst of the first chunk, for longer than the TTL, and goes on: all that it
gets of that chunk is of one version, or its read fails. HOW is what happens meanwhile:
  same       nothing: it reads on
  unnoticed  the chunk is replaced
  noticed    and a program that opens the file then reads the new one
  shared     and a program that had the file open before reads the new one, from and into the pages that both have
  hung       the same, and waits for a chunk that does not come when the reader returns
  again      the reader had begun twice, the chunk is replaced, and a program that opens the file then reads the new one"""

import os
import sys
import tempfile
import threading
import time

import numpy as np

import stores
import versions

STEP, PART = 128 << 10, 1 << 20
PAUSE = 3.6  # s: metadata_ttl=1, and what counts as reading on


def version_of(got, at):
    values = np.frombuffer(got, "<i4") - versions.noise.reshape(-1)[at // 4:at // 4 + len(got) // 4]
    return sorted(set(values.tolist()))


def replace(path):
    with tempfile.TemporaryDirectory() as folder:
        array = stores.put_v2(folder, "a", versions.chunk(7), None, chunks=versions.CHUNK, **versions.LAYOUTS[os.path.basename(path)])
        stored = {(n, 0, 0): stores.encoded(array, versions.chunk(version)) for n, version in enumerate((7, 0))}
    stores.put_chunks(path, stored if stores.FORM == "shards" else {(0, 0, 0): stored[0, 0, 0]})


def rest_of(file, at, end):
    """The rest of the chunk, step by step; what could be read of it, and whether all could."""
    got = []
    while at < end:
        try:
            got.append(os.pread(file, STEP, at))
        except OSError:
            return b"".join(got), False
        at += len(got[-1])
    return b"".join(got), True


def read_new(name):
    file = os.open(name, os.O_RDONLY)
    for n in range(300):
        got = os.pread(file, STEP, 2 << 20)
        if version_of(got, 2 << 20) == [7]:
            break
        os.close(file)
        time.sleep(0.2)
        file = os.open(name, os.O_RDONLY)
    else:
        sys.exit("FAILED: no open shows the new version")
    os.close(file)


def read_again(file, how):
    """What the program that had the file open reads, until that is the new version. Pages are not dropped while the kernel's own read of
    what comes next hangs, which is for timeout= at most."""
    end = time.monotonic() + 90
    while time.monotonic() < end:
        got, whole = rest_of(file, 0, versions.BYTES)
        if whole and version_of(got, 0) == [7]:
            return
        time.sleep(0.1)
    sys.exit("FAILED: %s: a program that has the file open does not see the new version" % how)


def hang(file):
    """Waits for what does not come; what failed lately fails at once."""
    while True:
        try:
            os.pread(file, STEP, versions.BYTES)
        except OSError:
            time.sleep(0.1)


def begin_again(file):
    """The kernel is to ask for the beginning twice."""
    os.pread(file, STEP, 0)
    os.posix_fadvise(file, 0, 0, os.POSIX_FADV_DONTNEED)


def main(array, name, how):
    file = os.open(name, os.O_RDONLY)
    if how == "again":
        begin_again(file)
    got, whole = rest_of(file, 0, PART)
    other = os.open(name, os.O_RDONLY)
    if how != "same":
        replace(array)
    time.sleep(PAUSE / 3)
    if how in ("noticed", "again"):
        read_new(name)
    time.sleep(PAUSE * 2 / 3)
    if how in ("shared", "hung"):
        read_again(other, how)
    if how == "hung":
        threading.Thread(target=hang, args=(other,), daemon=True).start()
        time.sleep(2.6)  # what failed lately is asked for anew after a second
    more, whole = rest_of(file, len(got), versions.BYTES)
    got += more
    seen = version_of(got, 0)
    print("%s: versions %s in %d bytes" % (how, seen, len(got)))
    if len(seen) != 1:
        sys.exit("FAILED: %s: the first chunk is of versions %s" % (how, seen))
    if not whole and how == "same":
        sys.exit("FAILED: %s: it cannot read on" % how)
    if how not in ("hung", "again") and version_of(os.pread(file, STEP, versions.BYTES), 0) != [0]:
        sys.exit("FAILED: %s: the second chunk" % how)


if __name__ == "__main__":
    main(*sys.argv[1:])

"""shards_faults.py make STORE: arrays of two shards, of four chunks each that are a page of the file; an array for each fault, index first (a name that begins
with s) or last (e).
shards_faults.py damaged MOUNT: of shards that are damaged as they are stored what is whole is read, and the rest is refused by name
shards_faults.py once|always MOUNT: what is asked of $PROXY goes wrong, once or from now on, for the index or for one chunk
shards_faults.py changed MOUNT: shards are others, shorter, or gone, between their index and their chunks"""

import concurrent.futures
import errno
import itertools
import mmap
import os
import re
import sys
import time
import urllib.parse
import urllib.request

import numpy as np

import as_v3
import bucket
import stores
import zarr3

PAGE, EACH = 4096, 4  # bytes of a chunk; chunks of a shard
STORED, INDEX = PAGE + 4, 16 * EACH + 4
VALUES = stores.field((2 * EACH, PAGE // 4), "<i4") + 1
ORDER = [2, 0, 3, 1, 6, 4, 7, 5]  # not that of the file, in which chunks are read ahead
# name → what becomes of the first shard; whether the index is first → the pages that cannot be read then; what is said of it
DAMAGES = {
    "half": (lambda b: b[:len(b) // 2], ({0, 1, 2, 3}, {1, 2, 3}), r"index of a shard|chunk \d of a shard lies at \d+ with 4100 bytes, the shard has \d+"),
    "empty": (lambda b: b"", ({0, 1, 2, 3},) * 2, r"a shard of 0 bytes is shorter than its index"),
    "short": (lambda b: b[:20], ({0, 1, 2, 3},) * 2, r"a shard of 20 bytes is shorter than its index"),
    "zeros": (lambda b: bytes(len(b)), ({0, 1, 2, 3},) * 2, r"index of a shard.*checksum"),
    "longer": (lambda b: b + b"more", ({0, 1, 2, 3}, set()), r"index of a shard.*checksum"),
    "chunk": (lambda b: flipped(b, 5000), ({1},) * 2, r"crc32c.*checksum"),
}
# name → the proxy's fault; what is said if it lasts, which on a busy machine may be that no attempt had an answer
FAULTS = {
    "status": ("kind=status", r"HTTP (status )?503|timed out"),
    "denied": ("kind=status&status=403", r"HTTP status 403 AccessDenied"),
    "reset": ("kind=reset", r"reset|closed|recv|Recv|timed out"),
    "broken": ("kind=reset&after=%d", r"reset|closed|recv|Recv|transfer|timed out"),
    "cut": ("kind=truncate&after=%d", r"."),
    "stall": ("kind=stall&after=%d", r"."),
    "corrupt": ("kind=corrupt&at=20", r"checksum"),
}
AT_ONCE = {"denied", "corrupt"}  # no time goes by until they are told
PLACES = {"index": {2}, "chunk": {1}}
OFTEN = {"once": FAULTS.keys() - {"denied"}, "always": FAULTS.keys()}  # what is no more in a moment, and what may last


def flipped(content, at):
    return content[:at] + bytes([content[at] ^ 1]) + content[at + 1:]


def shard(values, start, before=()):
    """before: what stands before those values"""
    return zarr3.shard([*before, *(row.tobytes() + zarr3.crc32c(row.tobytes()).to_bytes(4, "little") for row in values)], start=start)


def names(of, *more):
    return ["_".join(each) for each in itertools.product("es", of, *more)]


def make(store):
    as_v3.save(os.path.join(store, "zarr.json"), zarr3.group())
    for start in (False, True):
        codecs = [zarr3.sharding([1, PAGE // 4], [zarr3.LITTLE, {"name": "crc32c"}], start=start)]
        document = zarr3.array(VALUES.shape, (EACH, PAGE // 4), "int32", -7, codecs)
        shards = [shard(VALUES[n:n + EACH], start) for n in (0, EACH)]
        for name in names(DAMAGES) + names(FAULTS, PLACES, OFTEN) + names(("other", "gone", "shorter")):
            if (name[0] == "s") == start:
                damage = DAMAGES.get(name[2:], (lambda b: b,))[0]
                as_v3.save(os.path.join(store, name, "zarr.json"), document)
                for n, content in enumerate(shards):
                    as_v3.put_object(os.path.join(store, name, "c/%d/0" % n), content if n else damage(content))
    as_v3.consolidate(store)


class Check(stores.Check):
    def page(self, path, n, want=VALUES):
        try:
            self.bytes("page %d of %s" % (n, path), direct(path, n), want[n].tobytes())
        except OSError as error:
            self.that(False, "page %d of %s: %s" % (n, path, error))

    def soon(self, path, n, want):
        """What a program may have of the shard before it keeps another version from being read for a moment."""
        end = time.monotonic() + 60
        while time.monotonic() < end:
            try:
                return self.bytes("page %d of %s" % (n, path), direct(path, n), want[n].tobytes())
            except OSError:
                text = os.getxattr(path, "user.zarrfs.error").decode()
                self.that("replaced while it was read" in text, "%s: %s" % (path, text))
                time.sleep(0.1)
        return self.that(False, "page %d of %s cannot be read" % (n, path))

    def pages(self, path, fails, said, order=ORDER):
        """Each by itself; fails: those that cannot be read."""
        for n in order:
            if n not in fails:
                self.page(path, n)
                continue
            self.error("page %d of %s" % (n, path), errno.EACCES if "denied" in path else errno.EIO, direct, path, n)
            text = os.getxattr(path, "user.zarrfs.error").decode() if "user.zarrfs.error" in os.listxattr(path) else "(none)"
            self.that("%s/c/0/0" % os.path.basename(path) in text and re.search(said, text), "%s: of page %d it says '%s', not '%s'" % (path, n, text, said))


def direct(path, n):
    with mmap.mmap(-1, PAGE) as memory:  # page-aligned, as direct I/O wants it
        file = os.open(path, os.O_RDONLY | os.O_DIRECT)
        try:
            return memory[:os.preadv(file, [memory], n * PAGE)]
        finally:
            os.close(file)


def damaged(check, mount):
    for name in names(DAMAGES):
        _, fails, said = DAMAGES[name[2:]]
        check.pages(os.path.join(mount, name), fails[name[0] == "s"], said)


def proxy(method, path):
    urllib.request.urlopen(urllib.request.Request(os.environ["PROXY"] + path, method=method)).read()


def asked(start, place):
    """What the header of a request for the index, or for the second chunk, or for the rest of them, has."""
    whole = INDEX + EACH * STORED
    if place == "index":
        return r"\d+-%d" % (INDEX - 1) if start else r"(-%d|\d+-%d)" % (INDEX, whole - 1)
    return r"\d+-%d" % (start * INDEX + 2 * STORED - 1)


def fault(check, path):
    start, kind, place, often = os.path.basename(path).split("_")
    query, said = FAULTS[kind]
    once = often == "once"
    query = query % (10 * once) if "%" in query else query
    head = urllib.parse.quote(r"(?i)range: bytes=" + asked(start == "s", place) + "\r")
    proxy("POST", "/-/fault?%s&match=%s/c/0/0&head=%s%s" % (query, os.path.basename(path), head, "&count=1" * once))
    waits = {0, 1, 3} if place == "index" and not once else set()  # each for as long
    check.pages(path, set() if once else PLACES[place], said, [n for n in ORDER if n not in waits])


def faults(check, mount, often):
    paths = []
    for kinds in OFTEN[often] & AT_ONCE, OFTEN[often] - AT_ONCE:  # a server that seems to be busy is asked for less at once
        there = [os.path.join(mount, name) for name in names(kinds, PLACES, [often])]
        with concurrent.futures.ThreadPoolExecutor(len(there)) as readers:
            list(readers.map(lambda path: fault(check, path), there))
        paths += there
    proxy("DELETE", "/-/fault")
    time.sleep(1.2)  # for which what did not come is refused at once
    for path in paths:
        check.pages(path, set(), "")


def changed(check, mount):
    server, other = bucket.client(), VALUES + 10 ** 8
    for name in names(("other", "gone", "shorter")):
        path, key, start = os.path.join(mount, name), "/bucket/store/%s/c/0/0" % name, name[0] == "s"
        check.page(path, 0)
        if name[2:] == "gone":
            server.ask("DELETE", key)
            check.page(path, 3, np.full_like(VALUES, -7))
            check.soon(path, 0, np.full_like(VALUES, -7))
        elif name[2:] == "other":  # chunks lie elsewhere in it
            server.ask("PUT", key, body=shard(other[1:EACH], start, [None]))
            for n in (3, 1, 2):  # of which no program has anything yet
                check.page(path, n, other)
            check.soon(path, 0, np.full_like(VALUES, -7))
        else:
            server.ask("PUT", key, body=DAMAGES["half"][0](shard(VALUES[:EACH], start)))
            check.error("page 3 of %s" % name, errno.EIO, direct, path, 3)
        for n in range(EACH, 2 * EACH):
            check.page(path, n)


if sys.argv[1] == "make":
    make(sys.argv[2])
else:
    result = Check()
    if sys.argv[1] in OFTEN:
        faults(result, sys.argv[2], sys.argv[1])
    else:
        {"damaged": damaged, "changed": changed}[sys.argv[1]](result, sys.argv[2])
    result.end()

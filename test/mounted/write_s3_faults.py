"""write_s3_faults.py make STORE: variables of Zarr V2, or of V3 in shards (STORES_FORM), of which two grow with time.
write_s3_faults.py run KEY PATIENT HASTY OTHER READER FOLDER: writes to mounts of s3://bucket/KEY through the proxy at $PROXY, which spoils requests in one
way after the other: to PATIENT where that passes, else to HASTY, whose deadline is short. What was told to be stored is what READER, a mount without the
proxy, and zarr-python read; what was not is named, and can be written after a refresh. OTHER, without the proxy, writes to the same chunks meanwhile.
PATIENT has its keys from FOLDER/keys, at first those of FOLDER/first; others are in FOLDER/second.json."""

import errno
import os
import shutil
import sys
import threading
import time
import urllib.parse
import urllib.request

import numcodecs
import numpy as np
import zarr

import as_v3
import bucket
import stores

ROWS, X, FILL = 3, 50, -1
SIDE = 64
ROW = {"rows": 4 * X, "time": 4}
FILES = ("part", "whole", "rows", "time")
PATIENCE = 60  # s; a storage that takes longer than that hangs


# --- the store

def make(path):
    v2 = path if stores.FORM == "v2" else path + ".v2"
    group = zarr.open_group(zarr.DirectoryStore(v2), "w")
    for name, shape, chunks, packed, dims in [("part", (SIDE, SIDE), (16, SIDE), numcodecs.Zlib(1), ["y", "x"]), ("whole", (SIDE, SIDE), (32, 32), None, ["y", "x"]),
                                              ("rows", (ROWS, X), (2, 20), numcodecs.Zlib(1), ["time", "n"]), ("time", (ROWS,), (4,), numcodecs.Zlib(1), ["time"])]:
        a = group.create_dataset(name, shape=shape, chunks=chunks, dtype="<i4", fill_value=FILL, compressor=packed)
        a[...] = np.arange(a.size).reshape(shape)
        a.attrs.update({"_ARRAY_DIMENSIONS": dims, "units": "none"})
    zarr.consolidate_metadata(zarr.DirectoryStore(v2))
    if stores.FORM != "v2":
        as_v3.copy_store(v2, path, True)


# --- the proxy

def ask_proxy(method, path):
    with urllib.request.urlopen(urllib.request.Request(os.environ["PROXY"] + path, method=method), timeout=30) as answer:
        return answer.read().decode()


def fault(**how):
    ask_proxy("POST", "/-/fault?" + urllib.parse.urlencode(how))


def calm():
    ask_proxy("DELETE", "/-/fault")


def asked(what):
    """How many requests of the log have this in their line."""
    return sum(what in line for line in ask_proxy("GET", "/-/log").splitlines())


# --- the load

class Load:
    """What round number so many writes."""

    def __init__(self, mount, number):
        self.mount, self.number = mount, number
        self.failed = {}  # name to the call that failed and its error

    def bytes_of(self, n, salt):
        return ((np.arange(n // 4) * 7 + 1000003 * self.number + salt) % (1 << 30)).astype("<i4").tobytes()

    def pieces(self, name):
        """(offset, bytes, is an fsync due afterwards)"""
        n = self.number
        if name == "whole":
            return [(0, self.bytes_of(SIDE * SIDE * 4, 1), False)]
        if name in ROW:
            return [((ROWS + n) * ROW[name], self.bytes_of(ROW[name], 2), False)]
        return [(k * 4096 + 12 * (n % 20), self.bytes_of(400 + 100 * k, k), k == 1) for k in range(4)]

    def write(self, name):
        call, fd = "open", -1
        try:
            fd = os.open(os.path.join(self.mount, name), os.O_RDWR)
            for off, content, sync in self.pieces(name):
                call = "write"
                assert os.pwrite(fd, content, off) == len(content)
                if sync:
                    call = "fsync"
                    os.fsync(fd)
            call, closing, fd = "close", fd, -1
            os.close(closing)
        except OSError as e:
            self.failed[name] = (call, e)
            if fd >= 0:
                try:
                    os.close(fd)
                except OSError:
                    pass

    def set_units(self):
        try:
            os.setxattr(os.path.join(self.mount, "whole"), "user.units", b"round %d" % self.number)
        except OSError as e:
            self.failed["units"] = ("setxattr", e)

    def run(self, names=FILES):
        threads = [threading.Thread(target=self.write, args=(name,), daemon=True) for name in names] + [threading.Thread(target=self.set_units, daemon=True)]
        for thread in threads:
            thread.start()
        end = time.monotonic() + PATIENCE
        for thread in threads:
            thread.join(end - time.monotonic())
            assert not thread.is_alive(), "a write hangs"
        return self.failed


# --- what must hold

def read(path):
    with open(path, "rb") as file:
        return file.read()


def codes(failed):
    return {name: (call, errno.errorcode[e.errno]) for name, (call, e) in failed.items()}


class Test:
    def __init__(self, key, patient, hasty, other, reader, folder):
        self.stored, self.mounts, self.other, self.reader, self.folder = bucket.Stored(key), {False: patient, True: hasty}, other, reader, folder
        self.model = {name: bytearray(read(os.path.join(reader, name))) for name in FILES}
        self.number, self.bad, self.name, self.mount = 0, 0, "", patient

    def that(self, held, what):
        if not held:
            self.bad += 1
            print("%s, round %d: %s" % (self.name, self.number, what), file=sys.stderr)

    def refresh(self, mount):
        return read(os.path.join(mount, ".zarrfs/refresh")).decode()

    def log(self):
        return read(os.path.join(self.mount, ".zarrfs/log")).decode()

    def lay(self, pieces, name):
        for off, content, *_ in pieces:
            model = self.model[name]
            model += np.full(max(0, off - len(model)) // 4, FILL, "<i4").tobytes()
            model[off:off + len(content)] = content

    def check(self, names, when):
        """The model is what is stored, of these."""
        self.refresh(self.reader)
        self.stored.look()
        for name in names:
            if name == "units":
                want = b"round %d" % self.number
                self.that(os.getxattr(os.path.join(self.reader, "whole"), "user.units") == want, "%s: another mount has other units" % when)
                self.that(self.stored.attributes("whole")["units"].encode() == want, "%s: other units are stored" % when)
                continue
            want = bytes(self.model[name])
            for reader, content in [("another mount", read(os.path.join(self.reader, name))), ("zarr-python", self.stored.array(name).astype("<i4").tobytes())]:
                at = next((i for i, (x, y) in enumerate(zip(content, want)) if x != y), None)
                self.that(at is None and len(content) >= len(want), "%s: %s reads %s otherwise: %d bytes of %d, from %s on" % (when, reader, name, len(content), len(want), at))

    def is_named(self, name):
        path = "whole" if name == "units" else name
        try:
            os.getxattr(os.path.join(self.mount, path), "user.zarrfs.error")
            return True
        except OSError:
            return "'%s" % path in self.log()

    def round(self, name, faults, fails=(), stays=False, meanwhile=None):
        """fails: of these an error is to be told; stays: the fault is still there at the refresh; meanwhile: what OTHER writes to `part`."""
        self.name, self.mount = name, self.mounts[bool(fails)]
        self.refresh(self.mount)
        began = time.monotonic()
        load = Load(self.mount, self.number)
        ask_proxy("DELETE", "/-/log")
        for each in faults:
            fault(**each)
        thread = meanwhile and threading.Thread(target=self.write_beside, args=(meanwhile,))
        if thread:
            thread.start()
        failed = load.run()
        took = time.monotonic() - began
        if thread:
            thread.join()
        for each in faults:
            self.that(asked(" " + each["kind"]), "no fault %s was met" % each["kind"])
        for each in FILES:
            self.lay(load.pieces(each), each)
        self.that(set(failed) >= set(fails) and (fails or not failed), "an error is told of %s: %s" % (codes(failed), self.log()))
        self.check([each for each in FILES + ("units",) if each not in failed], "told to be stored")
        for each in failed:
            self.that(self.is_named(each), "%s is not named: %s" % (each, self.log()))
        if failed:
            self.recover(failed, stays)
        calm()
        print("%-30s %4.1f of %4.1f s, %d requests, failed: %s" % (name, took, time.monotonic() - began, asked(""), codes(failed)), flush=True)
        self.number += 1

    def recover(self, failed, stays):
        if stays:
            said = self.refresh(self.mount)
            for each in failed:
                self.that(each == "units" or "%s: " % each in said, "refresh does not say that bytes of %s are lost: %s" % (each, said))
        calm()
        said = self.refresh(self.mount)
        if not stays:  # what was taken from the program is stored now
            self.check([each for each, (call, _) in failed.items() if call == "close" and each != "part"], "after refresh")
        for _ in range(3):  # a machine may be that busy
            again = Load(self.mount, self.number).run()
            if not again:
                break
            self.refresh(self.mount)
        self.that(not again, "after refresh, which says '%s': %s" % (said, codes(again)))
        self.check(FILES + ("units",), "written again")

    def write_beside(self, kind):
        """Other bytes of chunks that are on their way, when a fault of that kind was met."""
        end = time.monotonic() + PATIENCE
        while not asked(" " + kind) and time.monotonic() < end:
            time.sleep(0.05)
        time.sleep(0.2)
        fd = os.open(os.path.join(self.other, "part"), os.O_RDWR)
        for k in range(4):
            piece = (4096 * k + 2048, bytes([self.number + 1, k, 7, 0]) * 25)
            assert os.pwrite(fd, piece[1], piece[0]) == 100
            self.lay([piece], "part")
        os.close(fd)

    def first_key(self):
        with open(os.path.join(self.folder, "first"), encoding="utf8") as file:
            return dict(line.strip().split("=", 1) for line in file)["AWS_ACCESS_KEY_ID"]


CHUNKS = "^PUT .*/(part|whole|rows|time)/(c/)?[0-9]"
PART = "^PUT .*/part/(c/)?[0-9]"
METADATA = r"^PUT .*/(\.z[a-z]+|zarr.json)( |$)"
ALL = FILES + ("units",)
CONDITION = "(?i)\nif-(none-)?match"


def run(*where):
    t = Test(*where)
    t.round("503 now and then", [dict(kind="status", match="^PUT", every=3)])
    t.round("taken, then reset", [dict(kind="lost", match="^PUT", every=2)])
    t.round("412 now and then", [dict(kind="status", status=412, code="PreconditionFailed", match="^PUT", head=CONDITION, every=3)])
    t.round("another writer is first", [dict(kind="latency", seconds=0.5, match=PART, count=8)], meanwhile="latency")
    t.that(asked(" 412 "), "no conflict")
    t.round("taken, then another writer", [dict(kind="lost", match=PART, count=1), dict(kind="latency", seconds=0.5, match=PART, count=8)], meanwhile="lost")
    t.round("taken, then reset, for ever", [dict(kind="lost", match="^PUT")], fails=ALL)
    if stores.FORM == "v2":  # what is no other for shards
        t.round("503 of chunks", [dict(kind="status", match=CHUNKS)], fails=FILES)
        shutil.copy(os.path.join(t.folder, "second.json"), os.path.join(t.folder, "keys"))
        t.round("expired and renewed", [dict(kind="status", status=403, code="ExpiredToken", match="^PUT", head="Credential=" + t.first_key())])
        t.round("reset now and then", [dict(kind="reset", match="^PUT", every=3)])
        t.round("slow", [dict(kind="latency", seconds=0.1, match="^PUT")])
        t.round("503 of metadata", [dict(kind="status", match=METADATA)], fails=("rows", "time", "units"))
        t.round("reset of chunks", [dict(kind="reset", match=CHUNKS)], fails=FILES, stays=True)
        t.round("stalled", [dict(kind="stall", match="^PUT")], fails=ALL)
        t.round("expired", [dict(kind="status", status=403, code="ExpiredToken", match="^PUT")], fails=ALL)
    t.round("denied", [dict(kind="status", status=403, code="AccessDenied", match="^PUT")], fails=ALL, stays=True)
    sys.stdout.flush()
    os._exit(t.bad > 0)  # a thread that hangs is no reason to stay


if sys.argv[1] == "make":
    make(sys.argv[2])
else:
    run(*sys.argv[2:])

"""whole.py make STORE ARCHIVE: a store of many small fields, in the form of STORES_FORM, and the same as a zip archive in which some chunks are damaged
whole.py serve STORE: a web server for it, which says its port; fails chunks that faults.json in STORE names
whole.py check KIND STORE MOUNT RUNS COUNTS: tools that read netCDF, on fields of which a chunk cannot be read: each gives what is in the store, or says
that it failed; what they did is added to COUNTS. KIND: dir, hang, http, s3, zip; of `hang` STORE is the file with which the store hangs at HUNG
whole.py sum COUNTS: says what there was by tool, store and failure"""

import collections
import http.server
import itertools
import json
import os
import random
import shutil
import sys
import tempfile
import time
import zipfile

import stores
from whole_tools import DEAF, EXACT, FAST, PLANE, STEPS, TOOLS, is_there, opens

FIELDS = 48  # the last one stays whole
HUNG = STEPS // 2
BUCKET = "bucket/"  # the first part of keys, for mounts that take the web server for S3
ZIPPED = ("corrupt", "truncated", "empty")
HOW = {"dir": ZIPPED + ("denied",), "zip": ("damaged",), "hang": ("silent",), "http": ("corrupt", "truncated", "refused", "busy", "silent")}
HOW["s3"] = HOW["http"]
PLACES = (0, STEPS // 2, STEPS - 1)
FORMATS = ("nc", "nc4", "rec.nc")
OUTCOMES = "whole", "failed", "deaf", "wrong"


def name_of(k):
    return "f%02d" % k


def values(k):
    return stores.field((STEPS,) + PLANE, "f4", k) + 1  # none is zero


def chunk_of(store, k, step):
    """The key of its object, and where the chunk begins in that."""
    name, at = stores.object_of(os.path.join(store, name_of(k)), (step, 0, 0))
    return os.path.relpath(name, store), at


def make(store, archive):
    for k in range(FIELDS):
        stores.put(store, name_of(k), values(k), {"_ARRAY_DIMENSIONS": ["time", "lat", "lon"]}, chunks=(1,) + PLANE, compressor=stores.ZLIB)
    stores.coordinates(store, "", STEPS, 0, PLANE)
    stores.consolidate(store)
    shutil.copytree(store, store + ".damaged")
    for k in range(FIELDS - 1):
        damage(store + ".damaged", k, PLACES[k // len(ZIPPED) % len(PLACES)], ZIPPED[k % len(ZIPPED)])
    with zipfile.ZipFile(archive, "w") as to:
        for folder, _, files in os.walk(store + ".damaged"):
            for file in files:
                path = os.path.join(folder, file)
                to.write(path, os.path.relpath(path, store + ".damaged"))
    shutil.rmtree(store + ".damaged")


def damage(store, k, step, how):
    key, at = chunk_of(store, k, step)
    path = os.path.join(store, key)
    content, at = stores.read(path), at + 200
    if how == "denied":  # to root, too
        os.unlink(path)
        os.symlink(os.path.basename(path), path)
        return
    new = {"corrupt": content[:at] + bytes(b ^ 0x55 for b in content[at:at + 100]) + content[at + 100:], "truncated": content[:len(content) // 2], "empty": b""}[how]
    with open(path + ".new", "wb") as file:
        file.write(new)
    os.rename(path + ".new", path)


# --- a web server ---

class Answers(http.server.SimpleHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def send_head(self):
        with open(os.path.join(self.directory, "faults.json"), encoding="utf8") as file:
            how = json.load(file).get(self.path.strip("/").removeprefix(BUCKET))
        if how == "silent":
            time.sleep(5)
        if how:
            self.send_error({"busy": 503, "refused": 403, "silent": 504}[how])
            return None
        self.path = "/" + self.path.strip("/").removeprefix(BUCKET)
        return super().send_head()


def serve(store):
    note_faults(store, {})
    handler = lambda *a, **k: Answers(*a, directory=store, **k)
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
    print(server.server_port, flush=True)
    server.serve_forever()


def note_faults(store, faults):
    path = os.path.join(store, "faults.json")
    with open(path + ".new", "w", encoding="utf8") as file:
        json.dump(faults, file)
    os.rename(path + ".new", path)


# --- runs ---

def read_some(draw, path):
    """Some of the file's pages, before anything is wrong."""
    with open(path, "rb", buffering=0) as file:
        size = os.fstat(file.fileno()).st_size
        for _ in range(draw.choice((3, 20))):
            file.seek(draw.randrange(size))
            length = draw.choice((100, 4096, 70000))
            try:
                file.read(length)
            except OSError:
                pass


def got_by(tool, path, name):
    with tempfile.TemporaryDirectory() as folder:
        try:
            return TOOLS[tool](path, name, folder)
        except OSError:
            return {}  # not even its header


class Runs:
    def __init__(self, kind, store, mnt):
        self.kind, self.store, self.mnt = kind, store, mnt
        self.check, self.draw = stores.Check(), random.Random(int(os.environ.get("WHOLE_SEED", "1")))
        self.tools = [tool for tool in TOOLS if is_there(tool) and (tool in FAST or "WHOLE_ROUNDS" in os.environ) and (tool not in EXACT or "WHOLE_EXACT" in os.environ)]
        self.used = collections.Counter()
        self.counts = collections.Counter()

    def path(self, k, form):
        return "%s/%s.%s" % (self.mnt, name_of(k), form)

    def healthy(self):
        """What cannot read what is whole shows nothing of what is not."""
        k = FIELDS - 1
        for tool in self.tools:
            form = next(form for form in FORMATS if opens(tool, "." + form))
            got = got_by(tool, self.path(k, form), name_of(k))
            self.check.that(len(got) == STEPS and all((got[step] == values(k)[step]).all() for step in got), "%s does not read what is whole" % tool)

    def begin(self, k, step, how):
        if how in ("busy", "refused", "silent") and self.kind != "hang":
            note_faults(self.store, {chunk_of(self.store, k, step)[0]: how})
        elif self.kind == "hang":
            open(self.store, "w", encoding="utf8").close()
        elif self.kind != "zip":
            damage(self.store, k, step, how)

    def field(self, k, how, step, warm):
        """Three tools on one field, those first that were used least: the first of them on its own, the others after it has failed."""
        form = self.draw.choice(FORMATS)
        path = self.path(k, form)
        if warm:
            read_some(self.draw, path)
        self.begin(k, step, how)
        some = sorted((tool for tool in self.tools if opens(tool, path)), key=lambda tool: (self.used[tool], self.draw.random()))[:3]
        for number, tool in enumerate(some):
            self.used[tool] += 1
            got = got_by(tool, path, name_of(k))
            wrong = sum(int((plane != values(k)[at]).sum()) for at, plane in got.items())
            self.check.that(not wrong or tool in DEAF, "%s: %d wrong elements of %s, whose step %d is %s" % (tool, wrong, path, step, how))
            outcome = ("deaf" if tool in DEAF else "wrong") if wrong else "whole" if len(got) == STEPS else "failed"
            for what in "tool " + tool, "store " + self.kind, "failure " + how, "format " + form, ("second" if number else "first") + " read", \
                    ("warm" if warm else "cold") + " pages", "step %d" % step, "all":
                self.counts[what + "\t" + outcome] += 1
        if self.kind == "hang":
            os.unlink(self.store)

    def run(self, most):
        cases = list(itertools.product(HOW[self.kind], PLACES if self.kind != "hang" else (HUNG,), (False, True)))
        fields = self.draw.sample(range(FIELDS - 1), FIELDS - 1)
        for number, k in enumerate(fields[:(most + 2) // 3]):
            if number % len(cases) == 0:
                self.draw.shuffle(cases)
            how, step, warm = cases[number % len(cases)]
            if self.kind == "zip":
                how, step = ZIPPED[k % len(ZIPPED)], PLACES[k // len(ZIPPED) % len(PLACES)]
            self.field(k, how, step, warm)


def check_mount(kind, store, mnt, most, counts):
    runs = Runs(kind, store, mnt)
    if runs.kind in ("dir", "zip"):  # from which answers are never late
        runs.healthy()
    runs.run(int(most))
    total = collections.Counter(json.loads(stores.read(counts))) if os.path.exists(counts) else collections.Counter()
    with open(counts, "w", encoding="utf8") as file:
        json.dump(total + runs.counts, file)
    runs.check.end()


def say_sum(counts):
    total = collections.Counter(json.loads(stores.read(counts)))
    print("%-28s %6s %6s %6s %6s %6s" % (("", "runs") + OUTCOMES))
    for what in sorted({key.split("\t")[0] for key in total}):
        row = [total[what + "\t" + outcome] for outcome in OUTCOMES]
        print("%-28s %6d %6d %6d %6d %6d" % (what, sum(row), *row))


if __name__ == "__main__":
    {"make": make, "serve": serve, "check": check_mount, "sum": say_sum}[sys.argv[1]](*sys.argv[2:])

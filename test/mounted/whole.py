"""whole.py make STORE ARCHIVE: a store of many small fields, and the same as a zip archive in which some chunks are damaged
whole.py serve STORE: a web server for it, which says its port; fails chunks that faults.json in STORE names
whole.py check KIND STORE MOUNT [RUNS]: tools that read netCDF through libnetcdf, on fields of which a chunk cannot be read: each gives what
is in the store, or says that it failed. KIND: dir, http, s3, zip"""

import http.server
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
import time
import zipfile

import netCDF4
import numpy as np
import zarr

import stores

try:
    import h5py
except ImportError:
    h5py = None

FIELDS, STEPS, PLANE = 48, 5, (150, 200)  # planes of 120,000 bytes: no whole pages, and blocks of 256 KiB hold parts of three
BUCKET = "bucket/"  # the first part of keys, for mounts that take the web server for S3
LOCAL, REMOTE = ("corrupt", "truncated", "empty", "denied"), ("corrupt", "truncated", "refused", "busy", "silent")


def name_of(k):
    return "f%02d" % k


def values(k):
    return stores.field((STEPS,) + PLANE, "f4", k) + 1  # none is zero


def chunk_of(k, step):
    return "%s/%d.0.0" % (name_of(k), step)


def make(store, archive):
    for k in range(FIELDS):
        stores.put(store, name_of(k), values(k), {"_ARRAY_DIMENSIONS": ["time", "y", "x"]}, chunks=(1,) + PLANE, compressor=stores.ZLIB)
    zarr.consolidate_metadata(zarr.DirectoryStore(store))
    shutil.copytree(store, store + ".damaged")
    for k in range(FIELDS):
        damage(store + ".damaged", k, (0, 2, STEPS - 1)[k % 3], LOCAL[k % 3])
    with zipfile.ZipFile(archive, "w") as to:
        for folder, _, files in os.walk(store + ".damaged"):
            for file in files:
                path = os.path.join(folder, file)
                to.write(path, os.path.relpath(path, store + ".damaged"))


def damage(store, k, step, how):
    path = os.path.join(store, chunk_of(k, step))
    content = stores.read(path)
    if how == "denied":  # to root, too
        os.unlink(path)
        os.symlink(os.path.basename(path), path)
        return
    new = {"corrupt": content[:200] + bytes(b ^ 0x55 for b in content[200:300]) + content[300:], "truncated": content[:len(content) // 2], "empty": b""}[how]
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


# --- tools ---

def records(path, name):
    """By step, what there is; a step that cannot be read is not in it. Twice, because libnetcdf has read ahead by then."""
    got = {}
    with netCDF4.Dataset(path) as nc:
        nc.set_auto_mask(False)
        for step in 2 * list(range(STEPS)):
            try:
                again = nc[name][step]
            except (RuntimeError, OSError):
                continue
            if step not in got or (again != values_of[name][step]).any():
                got[step] = again
    return got


def backwards(path, name):
    got = {}
    with netCDF4.Dataset(path) as nc:
        nc.set_auto_mask(False)
        for step in reversed(range(STEPS)):
            try:
                got[step] = np.concatenate([nc[name][step, :70], nc[name][step, 70:]])
            except (RuntimeError, OSError):
                pass
    return got


def in_one(path, name):
    with netCDF4.Dataset(path) as nc:
        nc.set_auto_mask(False)
        try:
            return dict(enumerate(nc[name][...]))
        except (RuntimeError, OSError):
            return {}


def by_hdf5(path, name):
    """Where h5py is there; it opens netCDF-4 files alone."""
    got = {}
    with h5py.File(path) as file:
        for step in 2 * list(range(STEPS)):
            try:
                got[step] = file[name][step]
            except OSError:
                pass
    return got


def by_r(path, name):
    with tempfile.NamedTemporaryFile() as out:
        code = "library(ncdf4); n <- nc_open('%s'); v <- ncvar_get(n, '%s', raw_datavals=TRUE); writeBin(as.vector(v), '%s', size=4)" % (path, name, out.name)
        done = subprocess.run(["Rscript", "-e", code], stdin=subprocess.DEVNULL, capture_output=True, timeout=200, check=False)
        got = np.fromfile(out.name, "<f4")
        return dict(enumerate(got.reshape((STEPS,) + PLANE))) if done.returncode == 0 else {}


def copied(command):
    """What a command that writes a netCDF file has written, unless it says that it failed."""
    def run(path, name):
        with tempfile.TemporaryDirectory() as folder:
            out = os.path.join(folder, "out.nc")
            done = subprocess.run([a.replace("IN", path).replace("OUT", out) for a in command], stdin=subprocess.DEVNULL, capture_output=True, timeout=200, check=False)
            return in_one(out, name) if done.returncode == 0 else {}
    return run


TOOLS = {
    "netCDF4": records,
    "netCDF4, backwards": backwards,
    "netCDF4, in one": in_one,
    "h5py": by_hdf5,
    "h5repack": copied(("h5repack", "IN", "OUT")),
    "Rscript": by_r,
    "cdo": copied(("cdo", "-s", "-O", "copy", "IN", "OUT")),
    "ncks": copied(("ncks", "-O", "-t", "1", "IN", "OUT")),
    "ncrcat": copied(("ncrcat", "-O", "-d", "time,0,4", "IN", "OUT")),
    "nccopy": copied(("nccopy", "IN", "OUT")),
}
values_of = {name_of(k): values(k) for k in range(FIELDS)}


def there(tool):
    if tool == "Rscript" and "WHOLE_RUNS" not in os.environ:
        return False  # takes as long as all others
    return tool.startswith("netCDF4") or (h5py if tool == "h5py" else shutil.which(tool))


def opens(tool, path):
    return path.endswith("4") or not tool.startswith("h5")


def warm(draw, path):
    """Some of the file's pages, before anything is wrong."""
    with open(path, "rb", buffering=0) as file:
        size = os.fstat(file.fileno()).st_size
        for _ in range(draw.choice((0, 0, 3, 20))):
            file.seek(draw.randrange(size))
            length = draw.choice((100, 4096, 70000))
            try:
                file.read(length)
            except OSError:
                pass


def got_by(tool, path, name):
    try:
        return TOOLS[tool](path, name)
    except OSError:
        return {}  # not even its header


def one_run(check, draw, kind, store, mnt, k, tools):
    step, path = draw.choice((0, 2, STEPS - 1, draw.randrange(STEPS))), "%s/%s.%s" % (mnt, name_of(k), draw.choice(("nc", "nc4")))
    how = "zip" if kind == "zip" else draw.choice(REMOTE if kind in ("http", "s3") else LOCAL)
    warm(draw, path)
    if how in ("busy", "refused", "silent"):
        note_faults(store, {chunk_of(k, step): how})
    elif how != "zip":
        damage(store, k, step, how)
    for tool in draw.sample([t for t in tools if opens(t, path)], 3):
        got = got_by(tool, path, name_of(k))
        for at, plane in got.items():
            wrong = (plane != values_of[name_of(k)][at]).sum()
            check.that(not wrong, "%s: %d wrong elements in step %d of %s, whose step %d is %s" % (tool, wrong, at, path, step, how))
    return 3


def check_mount(kind, store, mnt, runs):
    check, draw = stores.Check(), random.Random(int(os.environ.get("WHOLE_SEED", "1")))
    tools = [tool for tool in TOOLS if there(tool)]
    fields, done = draw.sample(range(FIELDS), FIELDS), 0
    while done < runs and fields:
        done += one_run(check, draw, kind, store, mnt, fields.pop(), tools)
    print("%d runs of tools on %s: %d steps were wrong" % (done, kind, check.failed))
    check.end()


if sys.argv[1] == "make":
    make(sys.argv[2], sys.argv[3])
elif sys.argv[1] == "serve":
    serve(sys.argv[2])
else:
    check_mount(sys.argv[2], sys.argv[3], sys.argv[4], int(sys.argv[5]))

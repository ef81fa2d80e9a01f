"""widths.py make STORE: arrays of texts without metadata of their widths, in few chunks and in many
widths.py serve STORE DELAY: a web server for it whose answers take so many seconds; says its port, and in STORE/asked.txt each chunk that is asked for
widths.py check STORE MOUNT: what the files of a mount show"""

import http.server
import json
import os
import sys
import threading
import time

import numcodecs
import numpy as np
import zarr

import stores

FEW, MANY = 60, 4000  # chunks of one element each
LONG = "a text of some more bytes than all others have"


def texts(n):
    values = np.array(["%d" % i for i in range(n)], object)
    values[n // 2] = LONG
    return values


def make(store):
    for name, n in ("few", FEW), ("many", MANY):
        stores.put(store, name, texts(n), dtype=object, object_codec=numcodecs.VLenUTF8(), chunks=(1,), compressor=None)
    stores.put(store, "endless", texts(2), dtype=object, object_codec=numcodecs.VLenUTF8(), chunks=(1,), compressor=None)
    path = os.path.join(store, "endless/.zarray")
    with open(path, encoding="utf8") as file:
        content = json.load(file)
    content["shape"] = [10 ** 12]
    with open(path, "w", encoding="utf8") as file:
        json.dump(content, file)
    zarr.open_group(store, "a")
    zarr.consolidate_metadata(zarr.DirectoryStore(store))


class Answers(http.server.SimpleHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    delay, lock = 0, threading.Lock()

    def log_message(self, *_):
        pass

    def do_GET(self):
        if self.path.rsplit("/", 1)[-1].isdigit():
            with self.lock, open(os.path.join(self.directory, "asked.txt"), "a", encoding="utf8") as file:
                file.write(self.path + "\n")
            time.sleep(self.delay)
        try:
            super().do_GET()
        except OSError:
            pass  # the reader has gone


def serve(store, delay):
    Answers.delay = float(delay)
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), lambda *a, **k: Answers(*a, directory=store, **k))
    server.daemon_threads = True
    print(server.server_port, flush=True)
    server.serve_forever()


def check(store, mount):
    at = stores.Check()
    at.that({"few", "many", "endless"} <= set(os.listdir(mount)), "what is listed")
    with os.scandir(mount) as entries:
        at.that(all(entry.is_file() or entry.name.startswith(".") for entry in entries), "kinds")
    at.that(not os.path.exists(os.path.join(store, "asked.txt")), "a listing reads chunks")
    width = len(LONG)
    at.same("size of few", os.stat(os.path.join(mount, "few")).st_size, FEW * width)
    at.same("size of many", os.stat(os.path.join(mount, "many")).st_size, MANY * 128)
    at.same("size of endless", os.stat(os.path.join(mount, "endless")).st_size, 10 ** 12 * 128)
    want = b"".join(text.encode().ljust(width, b"\0") for text in texts(FEW))
    at.bytes("few", stores.read(os.path.join(mount, "few")), want)
    at.end()


if sys.argv[1] == "make":
    make(sys.argv[2])
elif sys.argv[1] == "serve":
    serve(sys.argv[2], sys.argv[3])
else:
    check(sys.argv[2], sys.argv[3])

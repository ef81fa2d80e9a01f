"""Arrays as other programs wrote them, and the values that these read of them, recorded (test/data/recorded/*.json; chunks and values in hexadecimal digits). shard_filters.json and
shard_orders.json, of which elements are big-endian, are what zarr-python 3.4.1 wrote; spellings.json what may stand in documents, with what it reads of them where it does not refuse them.
recorded.py make FOLDER: a store of them; recorded.py empty FOLDER: the same without chunks
recorded.py check MOUNT: compares flat files, or what user.zarrfs.error says
recorded.py write MOUNT: writes all values into those that are not "unwritten": these cannot be, or their codecs change values; recorded.py written MOUNT: compares these"""

import json
import os
import sys

import stores
from zarr3 import group

HERE = os.path.dirname(os.path.abspath(__file__))
TABLES = ["shard_filters", "shard_orders", "spellings"]


def rows(kept=False):
    for table in TABLES:
        with open(os.path.join(HERE, "../data/recorded", table + ".json"), encoding="utf8") as file:
            for row in json.load(file):
                if not kept or not ("error" in row or row.get("unwritten")):
                    yield table + "/" + row["name"], row


def put(folder, path, content):
    name = os.path.join(folder, path)
    os.makedirs(os.path.dirname(name), exist_ok=True)
    with open(name, "wb") as file:
        file.write(content)


def make(folder, chunks=True):
    # the groups of the tables have no document of their own
    put(folder, "zarr.json", json.dumps({**group(), "consolidated_metadata": None, "other": {"must_understand": False}}).encode())
    for path, row in rows():
        put(folder, path + "/zarr.json", json.dumps(row["document"]).encode())
        for key, content in row["chunks"].items() if chunks else ():
            put(folder, path + "/" + key, bytes.fromhex(content))


def why(path):
    try:
        return os.getxattr(path, "user.zarrfs.error").decode()
    except OSError:
        return ""


def check(mount, kept=False):
    check = stores.Check()
    for path, row in rows(kept):
        name = os.path.join(mount, path)
        try:
            if "error" in row:
                check.error(path, 5, stores.read, name)
                check.that(row["error"] in why(name), "%s: not '%s', but '%s'" % (path, row["error"], why(name)))
            else:
                check.bytes(path, stores.read(name), bytes.fromhex(row["values"]))
        except OSError as e:
            check.that(False, "%s: %s: %s" % (path, e, why(name)))
    check.end()


def write(mount):
    for path, row in rows(True):
        with open(os.path.join(mount, path), "r+b") as file:
            file.write(bytes.fromhex(row["values"]))


if __name__ == "__main__":
    {"make": make, "empty": lambda folder: make(folder, False), "check": check, "write": write, "written": lambda mount: check(mount, True)}[sys.argv[1]](sys.argv[2])

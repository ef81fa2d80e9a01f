"""broken.py make STORE: a store in which nearly everything is odd: arrays whose chunks must not decode, unknown codecs and types,
bad attributes, broken JSON
broken.py check MOUNT: what a mount of it must show and refuse"""

import errno
import gzip
import json
import os
import re
import struct
import sys
import zlib

import numcodecs
import numpy as np

import stores

VALUES = stores.field((64, 64), "<i4")  # two chunks, each of whole pages

# name → what the log must say (a pattern); reading gives EIO
DAMAGED = {
    "truncated": r"says \d+ bytes, but there are",
    "overlong": r"more than 8192 bytes",
    "raw_short": r"8191 bytes instead of 8192",
    "raw_long": r"8193 bytes, where at most 8192",
    "checksum": r"'crc32': checksum is",
    "adler": r"damaged",
    "empty_object": r"\b0 bytes",
    "garbage": r"blosc format 255",
    "bomb": r"decode to more than 8192 bytes",
    "large_bomb": r"bytes, where at most",
    "blosc_bomb": r"2147483616 bytes instead of 8192",
    "vlen_bad": r"element 0 of 2147483632 bytes",
    **{"truncated_" + codec: r"'%s'.*(damaged|truncated)" % codec for codec in "zlib zstd lz4 gzip bz2 lzma".split()},
}
# name → what the log and user.zarrfs.error must say; reading gives EIO
UNKNOWN = {
    "unknown_codec": r"'no_such_codec'",
    "unknown_filter": r"'no_such_filter'",
    "pickled": r"run code",
    "unknown_dtype": r"'<q3'",
    "bad_shape": r"'x' is not an integer",
    "bad_json": r"line 1, column 31",
    "bad_chunks": r"length 0",
    "huge_chunk": r"larger than memory",
    "overflow": r"larger than a file",
    "not_an_object": r"a list",
}


def document(store, path, **change):
    """Rewrites a JSON document of the store with some members changed (None: removed)."""
    path = os.path.join(store, path)
    with open(path, encoding="utf8") as file:
        content = json.load(file)
    content.update(change)
    with open(path, "w", encoding="utf8") as file:
        json.dump(content, file)


def chunk(store, name, change):
    """Replaces the first chunk by change(its bytes)."""
    path = os.path.join(store, name, "0.0")
    content = stores.read(path)
    with open(path, "wb") as file:
        file.write(change(content))


def array(store, name, **how):
    how.setdefault("compressor", stores.ZLIB)
    stores.put(store, name, VALUES, {"units": "K"}, chunks=(32, 64), **how)


def make(store):
    half = lambda b: b[:len(b) // 2]
    array(store, "good")
    array(store, "group/also_good", compressor=stores.BLOSC)
    stores.put(store, "truncated", VALUES, chunks=(32, 64), compressor=stores.BLOSC)
    chunk(store, "truncated", half)
    for name, compressor in [("zlib", stores.ZLIB), ("zstd", stores.ZSTD), ("lz4", stores.LZ4), ("gzip", numcodecs.GZip(1)), ("bz2", numcodecs.BZ2(1)), ("lzma", numcodecs.LZMA())]:
        array(store, "truncated_" + name, compressor=compressor)
        chunk(store, "truncated_" + name, half)
    array(store, "overlong")
    chunk(store, "overlong", lambda b: zlib.compress(zlib.decompress(b) + b"four"))
    array(store, "raw_short", compressor=None)
    chunk(store, "raw_short", lambda b: b[:-1])
    array(store, "raw_long", compressor=None)
    chunk(store, "raw_long", lambda b: b + b"1")
    array(store, "checksum", filters=[numcodecs.CRC32()], compressor=None)
    chunk(store, "checksum", lambda b: b[:50] + bytes([b[50] ^ 1]) + b[51:])
    array(store, "adler")
    chunk(store, "adler", lambda b: b[:-1] + bytes([b[-1] ^ 1]))
    array(store, "empty_object")
    chunk(store, "empty_object", lambda b: b"")
    array(store, "garbage", compressor=stores.BLOSC)
    chunk(store, "garbage", lambda b: b"\xff\x7f" * 700)
    for name, size in ("bomb", 50 << 20), ("large_bomb", 300 << 20):
        array(store, name, compressor=numcodecs.GZip(1))
        chunk(store, name, lambda b: gzip.compress(bytes(size), 9))
    array(store, "blosc_bomb", compressor=stores.BLOSC)
    chunk(store, "blosc_bomb", lambda b: b[:4] + struct.pack("<I", 0x7fffffe0) + b[8:])
    array(store, "unknown_codec")
    document(store, "unknown_codec/.zarray", compressor={"id": "no_such_codec", "level": 9})
    array(store, "unknown_filter")
    document(store, "unknown_filter/.zarray", filters=[{"id": "no_such_filter"}])
    stores.put(store, "pickled", np.array([["a", {"b": 1}], [3, None]], object), dtype=object, object_codec=numcodecs.Pickle(), chunks=(2, 2))
    texts = np.array([["one", "three"], ["fünf", ""]], object)
    stores.put(store, "vlen_bad", texts, dtype=object, object_codec=numcodecs.VLenUTF8(), chunks=(2, 2), compressor=None)
    chunk(store, "vlen_bad", lambda b: struct.pack("<II", 4, 0x7ffffff0) + b[8:])
    for name, change in [("unknown_dtype", {"dtype": "<q3"}), ("bad_shape", {"shape": ["x", 3]}), ("bad_chunks", {"chunks": [0, 64]}),
                         ("huge_chunk", {"chunks": [1 << 62, 1 << 62]}), ("overflow", {"shape": [1 << 40, 1 << 40]})]:
        array(store, name)
        document(store, name + "/.zarray", **change)
    for name, text in [("bad_json", '{"zarr_format": 2, "shape": [4'), ("not_an_object", "[]")]:
        array(store, name)
        with open(os.path.join(store, name, ".zarray"), "w") as file:
            file.write(text)
    array(store, "bad_attributes")
    with open(os.path.join(store, "bad_attributes", ".zattrs"), "w") as file:
        file.write('{"units": "K", ')
    array(store, "odd_attributes")
    with open(os.path.join(store, "odd_attributes", ".zattrs"), "w") as file:
        file.write('{"units": "K", "nan": NaN, "big": 123456789012345678901234567890, "deep": {"a": [1, [2, {"b": null}]]}, "units2": "\\ud800"}')
    array(store, "broken_group/inside")
    with open(os.path.join(store, "broken_group", ".zgroup"), "w") as file:
        file.write("{{{")
    with open(os.path.join(store, "broken_group", ".zattrs"), "w") as file:
        file.write("\0\xff")


class Check(stores.Check):
    def reason(self, what, path, pattern):
        """user.zarrfs.error says why the last read failed, and is among the names."""
        text = os.getxattr(path, "user.zarrfs.error").decode() if "user.zarrfs.error" in os.listxattr(path) else "(none)"
        self.that(re.search(pattern, text), "%s %s: it says '%s'" % (what, path, text))


def check(mount):
    at = Check()
    want = stores.flat(VALUES, "<")
    for name in ["good", "group/also_good", "bad_attributes", "odd_attributes", "broken_group/inside"]:
        try:
            at.bytes(name, stores.read(os.path.join(mount, name)), want)
        except OSError as error:
            at.that(False, "%s must be readable: %s" % (name, error))
    at.same("an attribute beside odd ones", os.getxattr(os.path.join(mount, "odd_attributes"), "user.units"), b"K")
    names = set(os.listdir(mount))
    for name in [*DAMAGED, *UNKNOWN]:
        at.that(name in names, "%s is not listed" % name)
        path = os.path.join(mount, name)
        at.error("reading %s" % name, errno.EIO, stores.read, path)
        if name in DAMAGED:
            at.reason("the attribute of what fails", path, DAMAGED[name])
        if name in DAMAGED and name != "vlen_bad":
            at.same("size of %s" % name, os.stat(path).st_size, len(want))
    for name, pattern in {**UNKNOWN, "bad_attributes": r"line 1, column 16", "broken_group": r"line 1"}.items():
        try:
            text = os.getxattr(os.path.join(mount, name), "user.zarrfs.error").decode()
        except OSError as error:
            at.that(False, "user.zarrfs.error of %s: %s" % (name, error))
            continue
        at.that(re.search(pattern, text), "user.zarrfs.error of %s says '%s'" % (name, text))
    at.error("user.zarrfs.error of good", errno.ENODATA, os.getxattr, os.path.join(mount, "good"), "user.zarrfs.error")
    # the other chunk of an array with one bad chunk; around the page cache, since both lie in one page
    file, half = os.open(os.path.join(mount, "truncated"), os.O_RDONLY | os.O_DIRECT), len(want) // 2
    at.bytes("the good chunk beside a bad one", os.pread(file, half, half), want[half:])
    os.close(file)
    log = stores.read(os.path.join(mount, ".zarrfs/log")).decode(errors="replace")
    for name, pattern in {**DAMAGED, **UNKNOWN}.items():
        lines = [line for line in log.split("\n") if "'%s'" % name in line]
        at.that(any(re.search(pattern, re.sub(r"'%s(/[^']*)?'" % name, "", line)) for line in lines), "the log does not say why '%s' cannot be read: %r" % (name, lines))
    at.end()


if sys.argv[1] == "make":
    make(sys.argv[2])
else:
    check(sys.argv[2])

"""hierarchy.py make FOLDER: stores that are small but odd. hierarchy.py check MOUNT consolidated=...: what a mount of FOLDER shows."""

import errno
import json
import os
import struct
import sys

import stores

GROUP = {"zarr_format": 2}
LONG = "ü" * 127 + "a"
NAMES = ["a b", "ünï", "%41", "%", ".hidden", "..x", "...", LONG, "a" * 255, "x:y", 'q"q', "it's", "tab\tt", "new\nline", "\\bs", "*?", "e\u0301", "\u00e9", ".zarrfs2", "CON",
         "-dash", "~", "#frag", "a.nc", "a", ".store", ".zarrfs", "0", "1", "0.0", "con+", "=", "@", "😀"]
ATTRIBUTES = {"text": "a\nb", "nul": "x\0y", "empty": "", "int": 1, "real": 1.0, "nan": float("nan"), "reals": [float("nan"), 1], "named reals": ["NaN", 1.5, "-Infinity"],
              "texts": ["a", "b"], "NaNs": ["NaN", "NaN"], "mixed": [1, "x"], "nested": {"a": [1, None]}, "u64": 2 ** 64 - 1, "none": None, "limit": "x" * 65536, "ü b=": 2}
SHOWN = {"text": b"a\nb", "nul": b"x\0y", "empty": b"", "int": b"1", "real": b"1.", "nan": b"NaN", "reals": b"NaN, 1.", "named reals": b"NaN, 1.5, -Infinity", "texts": b"a\nb",
         "NaNs": b"NaN\nNaN", "mixed": b'[1, "x"]', "nested": b'{"a": [1, null]}', "u64": b"18446744073709551615ULL", "none": b"null", "limit": b"x" * 65536, "ü b=": b"2"}


def two(value):
    return struct.pack("<2h", value, value)


def zarray(**changes):
    return {"zarr_format": 2, "shape": [2], "chunks": [2], "dtype": "<i2", "compressor": None, "fill_value": 0, "order": "C", "filters": None, **changes}


def put(path, content):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    if not isinstance(content, bytes):
        content = (content if isinstance(content, str) else json.dumps(content)).encode()
    with open(path, "wb") as file:
        file.write(content)


def array(path, value=7, **changes):
    put(path + "/.zarray", zarray(**changes))
    put(path + "/0", two(value))


def group(path, consolidated=None, **attributes):
    put(path + "/.zgroup", GROUP)
    if attributes:
        put(path + "/.zattrs", attributes)
    if consolidated is not None:
        put(path + "/.zmetadata", {"zarr_consolidated_format": 1, "metadata": {".zgroup": GROUP, **consolidated}})


def make(folder):
    os.makedirs(folder)
    os.chdir(folder)
    group("names")
    for number, name in enumerate(NAMES):
        array("names/" + name, number)
    os.makedirs(b"names/\xff\xfe")
    with open(b"names/\xff\xfe/.zarray", "w") as file:
        json.dump(zarray(fill_value=99), file)
    array("implicit/g/h/v")
    array("implicit/g/w")
    put("implicit/g/h/.zattrs", {"a": 1})
    array("both")
    group("both")
    array("both/inner")
    put("only_consolidated/.zmetadata", {"zarr_consolidated_format": 1, "metadata": {"v/.zarray": zarray(), "v/.zattrs": {"u": "K"}, "g/w/.zarray": zarray()}})
    put("only_consolidated/v/0", two(5))
    put("only_consolidated/g/w/0", two(6))
    group("stale", {"v/.zarray": zarray(), "v/.zattrs": {"a": "old"}, "gone/.zarray": zarray()})
    array("stale/v", 3, shape=[4])
    put("stale/v/1", two(4))
    put("stale/v/.zattrs", {"a": "new"})
    array("stale/new", 8)
    group("nested", {"g/.zgroup": GROUP, "g/v/.zarray": zarray(), "g/v/.zattrs": {"a": "outer"}})
    group("nested/g", {"v/.zarray": zarray(), "v/.zattrs": {"a": "inner"}})
    array("nested/g/v", 4)
    group("broken")
    array("broken/good")
    put("broken/array/.zarray", "{")
    put("broken/group/.zgroup", "{")
    array("broken/group/v", 9)
    group("broken/attributes")
    put("broken/attributes/.zattrs", "{")
    array("broken/attributes/v", 9)
    for name, text in (("cut", "{"), ("version", {"zarr_consolidated_format": 2, "metadata": {}}), ("keys", {"zarr_consolidated_format": 1, "metadata": {
            ".zgroup": GROUP, "v/.zarray": zarray(), "../x/.zarray": zarray(), "a//b/.zarray": zarray(), "/c/.zarray": zarray(), "": 1}})):
        group("consolidated_" + name)
        array("consolidated_%s/v" % name)
        put("consolidated_%s/.zmetadata" % name, text)
    put("above/folder/readme.txt", "hello")
    array("above/folder/single")
    group("above/deep/er/s.zarr")
    array("above/deep/er/s.zarr/v")
    group("links")
    array("links/real")
    os.symlink("real", "links/inside")
    os.symlink(os.path.join(os.path.dirname(os.path.abspath(".")), "elsewhere"), "links/outside")
    array("../elsewhere")
    array("links/chunk", shape=[4])
    os.symlink("../../../elsewhere/0", "links/chunk/1")
    array("links/metadata")
    os.remove("links/metadata/.zarray")
    os.symlink("../../../elsewhere/.zarray", "links/metadata/.zarray")
    put("links/metadata/.zattrs", {"a": 1})
    array("attributes")
    put("attributes/.zattrs", ATTRIBUTES)
    array("too_much")
    put("too_much/.zattrs", {"units": "K", "large": "x" * 65537, "n" * 251: 1, **{"%s %d" % ("n" * 60, i): i for i in range(2000)}})


def read(path):
    """Bytes or errno."""
    try:
        return stores.read(path)
    except OSError as error:
        return error.errno


def attribute(path, name):
    try:
        return os.getxattr(path, "user." + name)
    except OSError as error:
        return error.errno


def names(path):
    try:
        return sorted(os.listdir(path))
    except OSError as error:
        return error.errno


def check_names(at):
    for number, name in enumerate(NAMES):
        at.same(name, read("names/" + name), two(number))
    at.same("a name that is no UTF-8", read(b"names/\xff\xfe"), two(99))
    at.same("names", sorted(os.listdir(b"names")), sorted([name.encode() for name in NAMES] + [b"\xff\xfe"]))


def check_groups(at):
    for path, want in {"implicit": ["g"], "implicit/g": ["h", "w"], "implicit/g/h": ["v"], "broken": ["array", "attributes", "good", "group"], "broken/group": ["v"], "above": ["deep", "folder"],
                       "above/folder": ["readme.txt", "single"], "above/deep/er": ["s.zarr"], "above/deep/er/s.zarr": ["v"],
                       "links": ["chunk", "inside", "metadata", "outside", "real"]}.items():
        at.same("names in " + path, names(path), want)
    for path, want in {"implicit/g/h/v": two(7), "implicit/g/w": two(7), "both": two(7), "both/inner": errno.ENOTDIR, "broken/good": two(7), "broken/array": errno.EIO,
                       "broken/group/v": two(9), "broken/attributes/v": two(9), "above/folder/readme.txt": b"hello", "above/folder/single": two(7), "above/deep/er/s.zarr/v": two(7),
                       "links/real": two(7), "links/inside": two(7), "links/outside": errno.EACCES, "links/chunk": errno.EACCES, "links/metadata": errno.EACCES}.items():
        at.same(path, read(path), want)
    at.same("attribute of an implicit group", attribute("implicit/g/h", "a"), b"1")
    for path in "broken/array", "broken/group", "broken/attributes":
        at.that(b"line 1" in (attribute(path, "zarrfs.error") or b""), "user.zarrfs.error of %s is %r" % (path, attribute(path, "zarrfs.error")))


def check_consolidated(at, mode):
    known = mode != "ignore"
    for name in "cut", "version", "keys":
        at.same("names in consolidated_" + name, names("consolidated_" + name), ["v"])
        at.same("consolidated_%s/v" % name, read("consolidated_%s/v" % name), two(7))
    if known:
        at.same("names in only_consolidated", names("only_consolidated"), ["g", "v"])
        at.same("only_consolidated/v", read("only_consolidated/v"), two(5))
        at.same("only_consolidated/g/w", read("only_consolidated/g/w"), two(6))
        at.same("an attribute", attribute("only_consolidated/v", "u"), b"K")
    at.same("names in stale", names("stale"), ["gone", "v"] if known else ["new", "v"])
    at.same("stale/v", read("stale/v"), two(3) if mode == "trust" else two(3) + two(4))
    at.same("stale/new", read("stale/new"), errno.ENOENT if mode == "trust" else two(8))
    at.same("stale/gone", read("stale/gone"), two(0) if mode == "trust" else errno.ENOENT)
    at.same("attribute of stale/v", attribute("stale/v", "a"), b"old" if mode == "trust" else b"new")
    at.same("nested/g/v", read("nested/g/v"), two(4))


def check_attributes(at):
    for name, want in SHOWN.items():
        at.same("attribute " + name, attribute("attributes", name), want)
    listed = os.listxattr("attributes")
    at.same("what is not listed", [name for name in SHOWN if "user." + name not in listed], [])
    listed = os.listxattr("too_much")
    at.that(800 < len(listed) < 1000 and "user.units" in listed, "%d attributes are listed" % len(listed))
    at.that("user.large" not in listed, "an attribute is listed that cannot be had")
    at.same("a large attribute", attribute("too_much", "large"), errno.E2BIG)
    at.same("an attribute that is not listed", attribute("too_much", "n" * 60 + " 1999"), b"1999")


def check_log(at):
    log = stores.read(".zarrfs/log").decode(errors="replace")
    for what in ("'broken/array'", "'broken/array/.zarray'", "'links/outside'", "'links/chunk/1'", "'links/metadata/.zarray'", "attribute 'large' has 65537 bytes", "attribute 'large' of 'too_much' is not listed", "warning 'broken/group': ", "attributes of 'too_much' are not listed",
                 "'broken/attributes': "):
        at.that(what in log, "the log does not have %s" % what)


def check(mount, options):
    at = stores.Check()
    os.chdir(mount)
    check_names(at)
    check_groups(at)
    check_consolidated(at, options.split("=")[1])
    check_attributes(at)
    os.listxattr("broken/attributes")
    check_log(at)
    os.chdir("/")
    at.end()


if sys.argv[1] == "make":
    make(sys.argv[2])
else:
    check(*sys.argv[2:])

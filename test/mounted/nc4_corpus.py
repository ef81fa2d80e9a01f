"""nc4_corpus.py TABLE,TABLE… PART MNT [PART MNT]…: of the conformance corpus, whose folder PART ("" for all of it) or archive is mounted at MNT, each variable's
.nc4 gives netCDF4-python and h5py the numbers of its flat file, whose bytes are those of the tables; and an error where the flat file is one. Versions of Icechunk
("store#tag=NAME") too."""

import ast
import collections
import hashlib
import math
import os
import re
import sys
import unicodedata

import h5py
import numpy as np

import nc4
import netcdf
import references
import stores


def known_sums(tables):
    """Path below the mount → sha256 of the flat file. Texts of any length, and what readers do not agree on, are for other tests."""
    sums = {}
    for table in tables:
        for line in open(table, encoding="utf8"):
            store, array, _, dtype, want = line.rstrip("\n").split("\t")[:5]
            if len(want) == 64 and "O" not in dtype:
                sums[os.path.join(references.directory_of(store), array).rstrip("/")] = want
    return sums


def variables(mnt, sums, part):
    """What a walk finds, and versions that the tables name besides."""
    found = {os.path.relpath(os.path.join(path, name), mnt) for path, _, names in os.walk(mnt) for name in names}
    return sorted(found | {path for path in sums if not part and "@" in path and os.path.isfile(os.path.join(mnt, path))})


def fields(described):
    """[("a", "<f4"), ("b", [ … ], (2, 3))] as NumPy takes it"""
    return [(f[0], fields(f[1]) if isinstance(f[1], list) else f[1], *map(tuple, f[2:])) for f in described]


def attribute(path, name):
    return os.getxattr(path, "user.zarrfs." + name).decode()


def flat_values(path):
    """Texts without a length of their own are bytes, of which each has as many as the longest."""
    content = stores.read(path)
    shape = tuple(int(n) for n in attribute(path, "shape").split(",") if n)
    text = attribute(path, "dtype")
    if text.startswith("|O"):
        width = len(content) // max(1, math.prod(shape))
        return content, np.frombuffer(content, "S1").reshape(shape + (width,))
    dtype = np.dtype(fields(ast.literal_eval(text)) if text.startswith("[") else text)
    return content, np.frombuffer(content, dtype.newbyteorder("<")).reshape(shape)


def shown_as(names, name):
    """Which of the file's names stands for this one: what netCDF forbids is _xHH_ there, all of it NFC."""
    plain = unicodedata.normalize("NFC", name)
    for shown in names:
        if re.sub("_x([0-9A-Fa-f]{2})_", lambda m: chr(int(m[1], 16)), shown) == plain or shown == plain:
            return shown
    raise KeyError("%s is not in %s" % (name, list(names)))


def check_values(check, what, got, want):
    """A text of one byte has a dimension for it, a character has not."""
    if want.dtype == "S1" and got.shape == want.shape + (1,):
        want = want.reshape(got.shape)
    nc4.check_values(check, what, got, want)


def compare_file(check, path, columns):
    with nc4.open_raw(path) as nc:
        names = list(nc.variables)
        for name, want in columns:
            check_values(check, "%s of %s" % (name, path), nc[shown_as(names, name)][...], want)
        if not columns:  # the flat file is an error
            return [v[...] for v in nc.variables.values()]
    with h5py.File(path) as h5:
        for name, want in columns:
            name = shown_as(names, name)
            data = h5[name if name in h5 else "_nc4_non_coord_" + name]
            check_values(check, "%s of %s with h5py" % (name, path), data[...] if want.size else np.zeros(data.shape, data.dtype), want)
    return None


def compare(check, path, known, count):
    """path: of a flat file; known: what its sum should be, or None."""
    columns = []
    try:
        content, values = flat_values(path)
        columns = [(name, nc4.wanted(part)) for name, part in netcdf.columns(os.path.basename(path), values)]
        if known:
            check.same("sum of " + path, hashlib.sha256(content).hexdigest(), known)
            count["of a known sum"] += 1
    except OSError:
        pass
    try:
        got = compare_file(check, path + ".nc4", columns)
        check.that(columns, "%s is an error, and %s.nc4 gives %r" % (path, path, got))
        count["compared"] += 1
    except (OSError, RuntimeError) as error:
        check.that(not columns, "%s.nc4: %s" % (path, error))
        count["errors as the flat file is"] += 1


def main(tables, *mounts):
    check, count, sums = stores.Check(), collections.Counter(), known_sums(tables.split(","))
    for part, mnt in zip(mounts[::2], mounts[1::2]):
        paths = variables(mnt, sums, part)
        for path in paths:
            key = part if len(paths) == 1 and part in sums else os.path.join(part, path)
            compare(check, os.path.join(mnt, path), sums.get(key), count)
    print(", ".join("%d %s" % (n, what) for what, n in count.items()))
    check.that(count["compared"] > 4000 and count["of a known sum"] > 1000, "only %s" % count)
    check.end()


main(*sys.argv[1:])

"""references.py EXPECTED MOUNT PREFIX [nc]: compares what is below MOUNT, where the store PREFIX… lies as its name says, with the rows of EXPECTED (store, array,
shape, dtype, sha256, notes); by the flat files, or what libnetcdf reads of numbers in VAR.nc. Versions (store#tag=NAME) are "@tag.NAME/" of their store.

Says what differs, and counts: right, refused (an error where there is a value), wrong. Only the last is said to be a failure with FAULTS in the environment, and
what should be refused must be refused in any case. Where readers do not agree, DECIDED says what is right here."""

import hashlib
import os
import re
import sys

import netCDF4
import numpy

import corpus

# what the readers of the format do not agree on: refused here
DECIDED = {"f_offline": "offline", "f_path_dup": "two nodes of one path",
           "f_snapid": "not the snapshot that its name says", "f_unlisted": "a manifest that is not in its snapshot's list"}

# … or shown: the official library leaves such references behind where an array was written over with other dimensions
SHOWN = ("f_dims",)


def directory_of(store):
    """Of a row, below the mount"""
    store, _, version = store.partition("#")
    kind, _, name = version.partition("=")
    return store + {"": "", "branch": "/@branch." + name, "tag": "/@tag." + name, "snapshot": "/@" + name}[kind]


def nc_digest(path, shape, dtype):
    """As libnetcdf gives it, in the type that is expected: widened to it and back nothing may be lost"""
    with netCDF4.Dataset(path + ".nc") as file:
        file.set_auto_maskandscale(False)
        name = os.path.basename(path)
        got = numpy.asarray(file.variables[name if name in file.variables else list(file.variables)[-1]][...])
    narrow = got.astype(dtype)
    if not numpy.array_equal(narrow.astype(got.dtype), got, equal_nan=got.dtype.kind == "f"):
        raise ValueError("values do not fit")
    return hashlib.sha256(narrow.tobytes()).hexdigest()


def numeric(dtype):
    """Has .nc the very numbers? 64 bits are doubles there, which hold what they can."""
    return re.fullmatch(r"[<|][iuf][124]|<f8", dtype)


def main():
    expected, mount, prefix = sys.argv[1:4]
    nc, faults = sys.argv[4:] == ["nc"], "FAULTS" in os.environ
    counts = {"right": 0, "refused": 0, "wrong": 0}
    for line in open(expected, encoding="utf8"):
        store, array, shape, dtype, want, notes = line.rstrip("\n").split("\t")
        if line.startswith("#") or not re.match(prefix, store) or (nc and not (numeric(dtype) and array and "0" not in re.findall(r"\d+", shape))):
            continue
        if want.startswith("AMBIGUOUS:"):
            if os.path.basename(store) not in {*DECIDED, *SHOWN}:
                raise SystemExit("nothing is decided of " + store)
            want = want[len("AMBIGUOUS:"):].partition("|")[0] if os.path.basename(store) in SHOWN else "MUST_FAIL"
        path, why = os.path.join(mount, directory_of(store), *([array] if array else [])), ""
        try:
            got = (nc_digest if nc else corpus.digest)(path, shape, dtype)
        except (OSError, RuntimeError) as error:  # the second is netCDF4's
            got, why = "", str(error)
        if "not in the archive" in notes and not os.path.exists(os.path.dirname(path)):
            continue
        must_fail = want.startswith(("MUST_FAIL", "UNSUPPORTED"))
        if must_fail or want.startswith("OPTIONAL:"):
            word = "right" if not got or got == want[9:] else "wrong"
        else:
            word = "right" if got == want else "wrong" if got else "refused"
        counts[word] += 1
        if word == "wrong" or (word == "refused" and not faults):
            print("FAILED: %s: %s %s (%s) %s" % (word, store, array, notes, why), file=sys.stderr)
    print(", ".join("%d %s" % (n, word) for word, n in counts.items()))
    sys.exit(1 if counts["wrong"] or (counts["refused"] and not faults) or not sum(counts.values()) else 0)


if __name__ == "__main__":
    main()

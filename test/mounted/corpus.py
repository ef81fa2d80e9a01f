"""corpus.py EXPECTED STORES MOUNT [ARCHIVE [PART]]: compares the flat files below MOUNT with the rows of EXPECTED (store, array, shape, dtype,
sha256, notes) that are directory stores of PART (synthetic_v2); or those of one zip archive, which is what is mounted then"""

import hashlib
import math
import os
import re
import struct
import sys

import stores

NOT_READ = re.compile(r"filt=(json2|msgpack2|vlen-array)|rectilinear flag")

# of what one reader only took once its metadata were changed; the others are chunk grids that are not regular
READ = ("h_legacy_endian_codec.zarr", "h_legacy_transpose_F.zarr", "h_shorthand_codecs.zarr")


def variable_of(mount, store, array):
    """The flat file of a row: a store that is a single array is a directory that holds it, or a file, as seen from above."""
    path = os.path.join(mount, store, array) if array else os.path.join(mount, store)
    if not array and os.path.isdir(path):
        files = [name for name in os.listdir(path) if os.path.isfile(os.path.join(path, name))]
        if len(files) == 1:
            return os.path.join(path, files[0])
    return path


def digest(path, shape, dtype):
    content = stores.read(path)
    if not dtype.startswith("|O"):
        return hashlib.sha256(content).hexdigest()
    count = math.prod(int(n) for n in re.findall(r"\d+", shape))
    width = len(content) // count if count else 0
    hashed = hashlib.sha256()
    for at in range(count):
        element = content[at * width:(at + 1) * width].rstrip(b"\0")
        hashed.update(struct.pack("<I", len(element)) + element)
    return hashed.hexdigest()


def main():
    expected, folder, mount = sys.argv[1:4]
    archive = sys.argv[4] if len(sys.argv) > 4 else ""
    part = sys.argv[5] if len(sys.argv) > 5 else "synthetic_v2"
    check, rows = stores.Check(), 0
    for line in open(expected, encoding="utf8"):
        if line.startswith("#"):
            continue
        store, array, shape, dtype, want, notes = line.rstrip("\n").split("\t")
        if archive:
            if store != archive:
                continue
        elif not store.startswith(part + "/") or not os.path.isdir(os.path.join(folder, store)):
            continue
        rows += 1
        label = "%s %s (%s)" % (store, array, notes)
        try:
            got = digest(variable_of(mount, "" if archive else store, array), shape, dtype)
        except OSError as error:
            check.that(want.startswith(("MUST_FAIL", "UNSUPPORTED")) or (NOT_READ.search(notes) and not store.endswith(READ)), "%s: %s" % (label, error))
            continue
        if want.startswith("AMBIGUOUS:"):
            check.that(got in want[10:].split("|"), "%s: %s is none of %s" % (label, got, want))
        elif want not in ("SKIP", "UNKNOWN"):
            check.same(label, got, want.replace("OPTIONAL:", ""))
    print("%d rows, %d differ" % (rows, check.failed))
    check.that(rows > (0 if archive else 100), "only %d rows" % rows)
    check.end()


if __name__ == "__main__":
    main()

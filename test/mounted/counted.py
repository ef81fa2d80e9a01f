"""counted.py make FOLDER full|small [LAYOUT]: one field in several layouts, or in one, and FOLDER/want
counted.py check FOLDER LAYOUT MIB STATS: what a whole read in file order may have fetched and decoded with that budget"""

import json
import math
import os
import re
import sys

import stores

SHAPES = {"full": (48, 721, 1440), "small": (24, 361, 480)}
LAYOUTS = {
    "slab": ((1, 721, 1440), {"compressor": stores.LZ4}),
    "slab_f": ((1, 721, 1440), {"compressor": stores.LZ4, "order": "F"}),
    "cube": ((24, 103, 120), {"compressor": stores.BLOSC}),
    "cube_f": ((24, 103, 120), {"compressor": stores.ZSTD, "order": "F"}),
    "pencil": ((48, 10, 10), {"compressor": stores.BLOSC}),
    "shuffled": ((12, 103, 180), stores.SHUFFLED),
}
ITEM = 4


def make(folder, size, only=None):
    values = stores.field(SHAPES[size])
    with open(os.path.join(folder, "want"), "wb") as file:
        file.write(stores.flat(values))
    for name, (chunks, how) in LAYOUTS.items():
        if only not in (None, name):
            continue
        chunks = tuple(min(n, c) for n, c in zip(values.shape, chunks))
        stores.put(os.path.join(folder, name + ".zarr"), "v", values, chunks=chunks, **how)


def decoded_at_most(shape, chunk, budget):
    """Decoded bytes / bytes of the file where K planes of every chunk of a slab are kept, as many as fit beside one row of chunks,
    and what does not fit is decoded again K planes later."""
    across, along = math.ceil(shape[1] / chunk[1]), math.ceil(shape[2] / chunk[2])
    one = math.prod(chunk) * ITEM
    slab, plane = across * along * one, across * along * chunk[1] * chunk[2] * ITEM
    row = along * one
    room = budget - min(budget / 4, row if row < budget / 4 else one)
    planes = min(chunk[0], int(room // plane))
    passes = math.ceil(chunk[0] / planes) if planes >= 1 else chunk[0]
    return passes * slab / (chunk[0] * shape[1] * shape[2] * ITEM)


def check(folder, layout, mib, stats):
    at, budget = stores.Check(), mib << 20
    store = os.path.join(folder, layout + ".zarr", "v")
    with open(os.path.join(store, ".zarray"), encoding="utf8") as file:
        meta = json.load(file)
    shape, chunk = meta["shape"], meta["chunks"]
    objects = [name for name in os.listdir(store) if name[0] != "."]
    stored = sum(os.path.getsize(os.path.join(store, name)) for name in objects)
    slabs = math.ceil(shape[0] / chunk[0])
    decoded_slab = math.prod(chunk) * ITEM * len(objects) // slabs
    whole = math.prod(shape) * ITEM
    count = {name: int(value) for name, value in re.findall(r"^zarrfs_(\w+) (\d+)$", stores.read(stats).decode(), re.M)}
    fetched, decoded = count["chunk_fetches_total"], count["chunk_decoded_bytes_total"] / whole
    most = decoded_at_most(shape, chunk, budget)
    print("%-8s memory %3d MiB: slab %.0f MiB, stored %.0f; %d objects fetched %d times; decoded %.2f × file (bound %.2f)" % (
        layout, mib, decoded_slab / (1 << 20), stored / slabs / (1 << 20), len(objects), fetched, decoded, most))
    padded = decoded_slab * slabs / whole
    # What fits: half of the budget, since the slabs before and behind want their places too
    if decoded_slab <= budget / 2:
        at.that(decoded <= padded + 1e-9, "decoded %.3f × the file, not %.3f" % (decoded, padded))
        at.same("fetches", fetched, len(objects))
    elif stored / slabs <= budget / 2:
        at.same("fetches", fetched, len(objects))
    at.that(decoded <= max(most, padded) + 1e-9, "decoded %.3f × the file, above %.3f" % (decoded, most))
    at.end()


if sys.argv[1] == "make":
    make(*sys.argv[2:])
else:
    check(sys.argv[2], sys.argv[3], int(sys.argv[4]), sys.argv[5])

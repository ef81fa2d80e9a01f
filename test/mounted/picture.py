"""picture.py make STORE: variables of many kinds; picture.py check STORE MNT: each VAR.png is what NumPy draws of the flat file VAR.
picture.py many MNT N NAME...: NAME.0.png … NAME.N-1.png, all asked for at once, are whole files of the size that stat says."""

import json
import os
import struct
import sys
import threading
import zlib

import numpy as np

from stores import LZ4, SHUFFLED, ZLIB, Check, put

MOST, LEAST, NARROW = 1024, 256, 64
FIRST, LEVELS, OTHER = 6, 250, 5  # of the palette: where values begin, how many there are, what is no flag
SCALE = {"rising": [(68, 1, 84), (33, 145, 140), (253, 231, 37)], "diverging": [(5, 48, 97), (247, 247, 247), (103, 0, 31)],
         "grey": [(0, 0, 0), (128, 128, 128), (255, 255, 255)]}
ROWS, COLUMNS = 90, 140


def variables():
    """name → values, attributes, what else its array has, what the picture shows (see expected)"""
    draw = np.random.default_rng(17)
    y, x = np.meshgrid(np.linspace(-1.5, 1.5, ROWS), np.linspace(0, 6.2, COLUMNS), indexing="ij")
    wave = np.sin(3 * x) * np.cos(2 * y) + x / 3
    holes = wave.astype("f4")
    holes[10:20, 30:50] = np.nan
    holes[40, 3] = np.inf
    steps = np.stack([wave * (1 + t) + 10 for t in range(4)]).astype("f8")
    grid = {"_ARRAY_DIMENSIONS": ["lat", "lon"]}
    yield "lat", np.linspace(-80, 80, ROWS), {"_ARRAY_DIMENSIONS": ["lat"], "units": "degrees_north"}, {}, {"curve": True}
    yield "lon", np.linspace(0, 359, COLUMNS), {"_ARRAY_DIMENSIONS": ["lon"]}, {}, {"curve": True}
    yield "level", np.array([1000.0, 850, 500, 200]), {"_ARRAY_DIMENSIONS": ["level"], "units": "hPa"}, {}, {"curve": True}
    yield "rising", holes + 5, {**grid, "units": "K", "long_name": "températures, à 2 m"}, {"chunks": (31, 41)}, {}
    yield "both", holes - 1, {**grid, "units": "m s-1"}, {"chunks": (ROWS, 7), **SHUFFLED}, {"colours": "diverging"}
    yield "plain", holes + 5, {"_ARRAY_DIMENSIONS": ["row", "column"]}, {"compressor": None, "chunks": (7, COLUMNS)}, {"north": False}
    yield "big", holes + 5, grid, {"dtype": ">f4", "chunks": (50, 50)}, {}
    yield "half", (holes + 5).astype("f2"), grid, {}, {}
    yield "filled", np.where(np.isnan(holes), -9, holes + 5).astype("f4"), grid, {"fill_value": -9}, {"missing": [-9]}
    yield "listed", np.where(np.isnan(holes), 1e20, holes + 5).astype("f4"), {**grid, "missing_value": [1e20, 77.0]}, {"fill_value": None}, {"missing": [np.float32(1e20)]}
    yield "packed", np.round(np.nan_to_num(holes, nan=-300, posinf=0) * 100).astype("i2"), {**grid, "scale_factor": 0.25, "add_offset": 273.0, "_FillValue": -30000}, \
        {"fill_value": None}, {"missing": [-30000], "factor": 0.25, "offset": 273.0}
    yield "unsigned", (wave * 20).astype("i1"), {**grid, "_Unsigned": "true"}, {"fill_value": None}, {"view": "u1"}
    yield "integers", (wave * 1e15).astype("i8") + 2 ** 60, grid, {"fill_value": None}, {}
    yield "truth", wave > 1, grid, {"fill_value": None}, {}
    yield "complex", (wave + 2j * wave).astype("c8"), grid, {"fill_value": None}, {"modulus": True}
    yield "same", np.full((ROWS, COLUMNS), 3, "i4"), grid, {"fill_value": None}, {"range": (2.97, 3.03)}
    yield "mostly", np.where(draw.random((ROWS, COLUMNS)) < 0.01, 8, 0).astype("f4"), grid, {"fill_value": None}, {"range": (0, 8)}
    yield "nothing", np.full((ROWS, COLUMNS), np.nan, "f4"), grid, {}, {}
    yield "flags", draw.integers(0, 7, (ROWS, COLUMNS)).astype("u1"), {**grid, "flag_values": [0, 2, 3, 5], "flag_meanings": "water land_ice sea_ice cloud", "_FillValue": 6}, \
        {"fill_value": None}, {"missing": [6], "flags": [0, 2, 3, 5]}
    yield "steps", steps, {"_ARRAY_DIMENSIONS": ["level", "lat", "lon"]}, {"chunks": (2, 31, 41)}, {"at": [(), (0,), (3,)]}
    yield "deep", np.stack([steps, steps + 5]), {"_ARRAY_DIMENSIONS": ["member", "level", "lat", "lon"]}, {"chunks": (1, 1, 31, 41)}, {"at": [(), (1,), (1, 3), (0, 2)]}
    yield "large", np.add.outer(np.arange(1500.0), np.arange(2100.0) / 7), {"_ARRAY_DIMENSIONS": ["lat2", "lon2"]}, {"chunks": (400, 300), "fill_value": None}, {"north": False}
    yield "thin", draw.random((3, 3000)), {"_ARRAY_DIMENSIONS": ["three", "many"]}, {"chunks": (1, 500)}, {"north": False}
    yield "photo", draw.integers(0, 256, (200, 300, 3)).astype("u1"), {"_ARRAY_DIMENSIONS": ["y", "x", "rgb"]}, {"chunks": (64, 64, 2), "fill_value": None}, {"photo": True}
    yield "photos", draw.integers(0, 256, (2, 130, 50, 4)).astype("u1"), {"_ARRAY_DIMENSIONS": ["n", "y", "x", "rgba"]}, {"chunks": (1, 64, 64, 4), "fill_value": None}, \
        {"photo": True, "at": [(), (1,)]}
    yield "series", np.where(np.arange(3000) % 700 < 20, np.nan, np.cumsum(draw.normal(size=3000))), {"_ARRAY_DIMENSIONS": ["n"]}, {"chunks": (1000,)}, {"curve": True}
    yield "image/0", draw.integers(0, 4000, (2, 300, 260)).astype("u2"), {}, {"chunks": (1, 100, 100), "fill_value": None}, \
        {"north": False, "colours": "grey", "range": [(100, 3000), (200, 900)], "at": [(0,), (1,)]}
    yield "image/1", draw.integers(0, 4000, (2, 150, 130)).astype("u2"), {}, {"chunks": (1, 100, 100), "fill_value": None}, \
        {"north": False, "colours": "grey", "range": [(100, 3000), (200, 900)], "at": [(0,), (1,)]}


OME = {"multiscales": [{"version": "0.4", "axes": [{"name": "c", "type": "channel"}, {"name": "y", "type": "space"}, {"name": "x", "type": "space"}],
                        "datasets": [{"path": "0"}, {"path": "1"}]}],
       "omero": {"channels": [{"window": {"start": 100, "end": 3000, "min": 0, "max": 65535}}, {"window": {"min": 200, "max": 900}}]}}


def make(store):
    os.makedirs(store + "/image")
    for group, attrs in ("", {}), ("image/", OME):
        for name, text in (".zgroup", {"zarr_format": 2}), (".zattrs", attrs):
            with open(store + "/" + group + name, "w", encoding="utf8") as file:
                json.dump(text, file)
    for name, values, attrs, how, _ in variables():
        put(store, name, values, attrs, **{"compressor": LZ4 if values.dtype.kind == "f" else ZLIB, **how})


def decode(data):
    """Palette or None, and pixels, of a PNG; as strictly as the specification reads."""
    assert data[:8] == b"\x89PNG\r\n\x1a\n"
    at, chunks = 8, []
    while at < len(data):
        size, kind = struct.unpack(">I4s", data[at:at + 8])
        body = data[at + 8:at + 8 + size]
        assert len(body) == size and zlib.crc32(kind + body) == struct.unpack(">I", data[at + 8 + size:at + 12 + size])[0]
        chunks.append((kind, body))
        at += 12 + size
    assert at == len(data) and chunks[0][0] == b"IHDR" and chunks[-1] == (b"IEND", b"")
    width, height, bits, colours, *rest = struct.unpack(">IIBBBBB", chunks[0][1])
    assert bits == 8 and rest == [0, 0, 0]
    channels = {2: 3, 3: 1, 6: 4}[colours]
    rows = np.frombuffer(zlib.decompress(b"".join(body for kind, body in chunks if kind == b"IDAT")), "u1").reshape(height, 1 + width * channels)
    assert not rows[:, 0].any()
    palette = [np.frombuffer(body, "u1").reshape(-1, 3) for kind, body in chunks if kind == b"PLTE"]
    assert colours != 3 or dict(chunks)[b"tRNS"] == b"\0"
    return palette[0] if palette else None, rows[:, 1:].reshape(height, width, channels).squeeze()


def strides(shape):
    """Stride and enlargement of rows and columns."""
    every = [-(-max(shape) // MOST)] * 2
    for i in 0, 1:
        if -(-shape[i] // every[i]) < NARROW:
            every[i] = max(1, shape[i] // NARROW)
    shown = [-(-n // s) for n, s in zip(shape, every)]
    zoom = min(-(-LEAST // max(shown)), max(1, MOST // max(shown)))
    return every, [max(zoom, -(-NARROW // n)) for n in shown]


def enlarge(values, zoom):
    return values.repeat(zoom[0], 0).repeat(zoom[1], 1)


def expected(values, shows, window):
    """Numbers of the palette's colours, and which colours they are."""
    raw = values.view(shows["view"]) if "view" in shows else values
    numbers = np.abs(raw.astype("c16")) if shows.get("modulus") else raw.astype("f8")
    gone = np.isnan(numbers) | np.isin(raw, shows.get("missing", []))
    if "flags" in shows:
        colours = np.full(raw.shape, OTHER)
        for i, flag in enumerate(shows["flags"]):
            colours[raw == flag] = FIRST + i
        return np.where(gone, 0, colours), None
    numbers = numbers * shows.get("factor", 1) + shows.get("offset", 0)
    among = numbers[~gone & np.isfinite(numbers)]
    if not among.size:
        return np.zeros(raw.shape), None
    low, high = window or np.percentile(among, [2, 98])
    how = shows.get("colours", "rising")
    if how == "diverging":
        assert low < 0 < high
        high = max(-low, high)
        low = -high
    with np.errstate(invalid="ignore"):
        level = np.clip(np.floor(np.nan_to_num((numbers - low) / (high - low) * LEVELS, posinf=1e9, neginf=-1e9)), 0, LEVELS - 1)
    return np.where(gone, 0, FIRST + level), how


def check_map(check, name, values, shows, pixels, palette, window):
    every, zoom = strides(values.shape)
    shown = values[::every[0], ::every[1]]
    want, how = expected(np.ascontiguousarray(shown), shows, window)
    if shows.get("north", True):
        want = want[::-1]  # latitudes rise
    want = enlarge(want, zoom)
    height, width = want.shape
    left = (pixels.shape[1] - width) // 2
    check.that(pixels.shape[1] == max(width, LEAST), "%s is %s wide for %d" % (name, pixels.shape[1], width))
    got = pixels[:height, left:left + width]
    wrong = (got != want).sum()
    check.that(wrong == 0, "%s: %d of %d pixels differ: %s" % (name, wrong, want.size, [(int(a), int(b)) for a, b in zip(got[got != want][:5], want[got != want][:5])]))
    check.that((pixels[height:] == 2).sum() > 50, "%s has no caption" % name)
    if how:
        for at, colour in zip((FIRST, FIRST + LEVELS // 2, FIRST + LEVELS - 1), SCALE[how]):
            check.that(np.abs(palette[at].astype(int) - colour).max() <= 6, "%s: colour %d is %s, not %s" % (name, at, palette[at], colour))


def check_photo(check, name, values, pixels):
    every, zoom = strides(values.shape[:2])
    want = enlarge(values[::every[0], ::every[1]], zoom)
    left = (pixels.shape[1] - want.shape[1]) // 2
    check.that((pixels[:want.shape[0], left:left + want.shape[1]] == want).all(), name + " differs")


def check_curve(check, name, values, pixels):
    """What is there is where it should be between the least and the greatest."""
    shown = values[::-(-values.size // MOST)]
    curve = FIRST + LEVELS // 4
    columns = np.flatnonzero((pixels == curve).any(0))
    there = np.flatnonzero(np.isfinite(shown))
    at = np.interp(np.arange(shown.size), there[[0, -1]], columns[[0, -2]])  # the pen is two pixels wide
    rows = np.flatnonzero((pixels == curve).any(1))
    height = np.interp(shown, [np.nanmin(shown), np.nanmax(shown)], [rows[-2], rows[0]])
    for h, c in zip(height[there], at[there]):
        column = np.flatnonzero(pixels[:, int(round(c))] == curve)
        if not check.that(column.size and column[0] - 3 <= h <= column[-1] + 3, "%s: at column %.1f its curve is at %s, not %.1f" % (name, c, column, h)):
            break
    gap = [c for v, c in zip(shown, at) if np.isnan(v)]
    check.that(not len(gap) or len(columns) < columns[-1] - columns[0], name + " has no gap")


def check_file(check, mnt, name, values, shows, index):
    path = "%s/%s%s.png" % (mnt, name, "".join(".%d" % i for i in index))
    size = os.stat(path).st_size
    with open(path, "rb") as file:
        data = file.read()
    check.that(len(data) == size, "%s has %d bytes, not %d" % (path, len(data), size))
    palette, pixels = decode(data)
    shape = values.shape
    values = np.fromfile(mnt + "/" + name, values.dtype.newbyteorder("=")).reshape(shape)
    apart = 3 if shows.get("photo") else 2
    while values.ndim > apart:
        values = values[index[0] if index else 0]
        index = index[1:]
    window = shows.get("range")
    if isinstance(window, list):
        window = window[int(path.split(".")[-2])]
    if shows.get("curve"):
        check_curve(check, name, values, pixels)
    elif shows.get("photo"):
        check_photo(check, path, values, pixels)
    else:
        check_map(check, path, values, shows, pixels, palette, window)


def check_all(store, mnt):
    check = Check()
    for name, values, _, _, shows in variables():
        for index in shows.get("at", [()]):
            check_file(check, mnt, name, values, shows, index)
    check.end()


def many(mnt, count, *names):
    check = Check()

    def ask(path):
        try:
            with open(path, "rb") as file:
                data = file.read()
            decode(data)
            check.that(len(data) == os.stat(path).st_size, path + " is not whole")
        except (OSError, AssertionError) as error:
            check.that(False, "%s: %r" % (path, error))

    threads = [threading.Thread(target=ask, args=("%s/%s.%d.png" % (mnt, name, i),)) for i in range(int(count)) for name in names]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    check.end()


if __name__ == "__main__":
    {"make": make, "check": check_all, "many": many}[sys.argv[1]](*sys.argv[2:])

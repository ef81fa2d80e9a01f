#!/usr/bin/python3
"""make-filter.py: writes filter/samples.tsv beside it, chunks as numcodecs (and zfpy) encode and decode them. A line a chunk:

    codec  config  dtype  shape  both|decode|encode  decoded  encoded

both byte strings in hex, the decoded one in C order. The dtype is Zarr's, or text:N or bytes:N for |O padded to N bytes.
"decode": encoding may choose other bytes; "encode": what was encoded does not come back.
"""
import json
import os
import warnings

import numcodecs
import numpy as np

warnings.simplefilter("ignore")
np.seterr(all="ignore")
HERE = os.path.dirname(os.path.abspath(__file__))
lines = []
seeds = np.random.RandomState(3)


def row(codec, dtype, shape, how, decoded, encoded):
    config = codec if isinstance(codec, dict) else codec.get_config()
    lines.append("\t".join([config["id"], json.dumps(config, sort_keys=True), dtype, json.dumps(list(shape)), how, decoded.hex(),
                            encoded.hex()]))


def raw(x):
    return bytes(numcodecs.compat.ensure_bytes(x))


def both(codec, a, how=None):
    """Encodes an array; the decoded column is what decoding gives."""
    encoded = raw(codec.encode(a.copy()))
    decoded = raw(codec.decode(encoded))
    if decoded == a.tobytes():
        row(codec, a.dtype.str, a.shape, how or "both", decoded, encoded)
        return
    row(codec, a.dtype.str, a.shape, "decode", decoded, encoded)
    row(codec, a.dtype.str, a.shape, "encode", a.tobytes(), encoded)


def numbers(dtype, n=20):
    """Small ones, all bits, and the edges of the type."""
    d = np.dtype(dtype)
    if d.kind == "b":
        return seeds.randint(0, 2, n).astype(d)
    if d.kind == "f":
        edges = [0.0, -0.0, np.inf, -np.inf, np.nan, 1.5, 2.5, -0.5, 1e5, -70000.0, 3e9, 1e19, -1e19, 1e-7, 65519, 65520, 6e-8, 1e30]
        return np.concatenate([np.array(edges).astype(d), (seeds.randn(n) * 1000).astype(d)])
    i = np.iinfo(d)
    edges = [0, 1, i.max, i.min, i.max - 1, 100, 2049, 2**24 + 1, 2**53 + 1, 2**63]
    return np.concatenate([np.array([e for e in edges if i.min <= e <= i.max], dtype=d), seeds.randint(0, 100, n).astype(d)])


def shuffle():
    for size in (1, 2, 3, 4, 8, 12, 16):
        both(numcodecs.Shuffle(size), seeds.randint(0, 256, 35 * size).astype("u1"))


def delta():
    for d in ("|i1", "<i2", ">i4", "<i8", "|u1", "<u2", ">u4", "<u8", "<f4", ">f8"):
        both(numcodecs.Delta(d), numbers(d)[:40] if np.dtype(d).kind != "f" else seeds.randn(30).astype(d))
    for d, a in (("<i4", "<i2"), ("<i2", "<i4"), ("<u2", "<i2"), ("<u8", "|i1"), ("<i4", ">f8")):
        both(numcodecs.Delta(d, a), np.abs(np.cumsum(seeds.randint(-60, 60, 30))).astype(d))
    for d, a in (("<f8", "<f4"), ("<f4", "<f8"), ("<f2", "<f2"), ("<f2", ">f4"), (">f4", "<i4")):
        both(numcodecs.Delta(d, a), (seeds.randn(30) * 10).astype(d))


def scale_offset():
    for scale, offset in ((10, 1000), (0.01, -3.25), (3, 0)):
        for d in ("<f8", ">f4", "<f2", "<i4", "<i8", "<u2"):
            for a in ("|u1", "<i2", ">i4", "<i8", "<u8", "<f4", "<f8", "<f2"):
                if "f2" in d + a and scale == 10:
                    continue  # NumPy 1 and 2 differ where a whole number is no float16
                x = (offset + seeds.randint(0, 60, 8) / scale * 1.07).astype(d)
                both(numcodecs.FixedScaleOffset(offset=offset, scale=scale, dtype=d, astype=a), x)


def quantize():
    for d in ("<f2", "<f4", "<f8", ">f8"):
        for a in ("<f2", "<f4", "<f8"):
            for digits in (-2, -1, 0, 1, 3, 6):
                both(numcodecs.Quantize(digits=digits, dtype=d, astype=a), (seeds.randn(6) * 300).astype(d))


def bitround():
    for d, most in (("<f2", 10), ("<f4", 23), ("<f8", 52)):
        for keep in (0, 1, 5, most - 1, most):
            x = np.concatenate([(seeds.randn(12) * 300).astype(d), np.array([0.0, -0.0, np.inf, -np.inf], dtype=d)])
            both(numcodecs.BitRound(keep), x, "decode")
            row(numcodecs.BitRound(keep), d, x.shape, "encode", x.tobytes(), raw(numcodecs.BitRound(keep).encode(x.copy())))


def astype():
    kinds = ("|b1", "|i1", "<i2", ">i4", "<i8", "|u1", ">u2", "<u4", "<u8", "<f2", ">f4", "<f8")
    for stored in kinds:
        for d in kinds:
            codec = numcodecs.AsType(encode_dtype=stored, decode_dtype=d)
            x = numbers(stored, 6).astype(stored)
            if np.dtype(stored).kind == "f" and np.dtype(d).kind in "iu":
                x = x[(x > np.iinfo(d).min) & (x < np.iinfo(d).max)]  # C says nothing of others
            row(codec, d, x.shape, "decode", raw(codec.decode(x)), x.tobytes())


def packbits():
    for n in (1, 7, 8, 9, 16, 29):
        both(numcodecs.PackBits(), numbers("?", n))


def categorize():
    labels = ["aé", "bb", "", "cc", "日本", "bb"]
    for d in ("<U2", ">U3"):
        for a in ("|u1", "<u2", ">i4"):
            both(numcodecs.Categorize(labels, dtype=d, astype=a), np.array(["aé", "bb", "cc", "", "日本", "bb"], dtype=d))
    codec = numcodecs.Categorize(labels, dtype="object")
    text = np.array(["cc", "日本", "", "aé"], dtype=object)
    row(codec, "text:8", text.shape, "both", pad([t.encode() for t in text], 8), raw(codec.encode(text)))
    row(numcodecs.Categorize(["x"], dtype="<U1"), "<U1", (4,), "decode",
        raw(numcodecs.Categorize(["x"], dtype="<U1").decode(np.array([0, 1, 2, 255], dtype="u1"))), bytes([0, 1, 2, 255]))


def pad(elements, width):
    return b"".join(e.ljust(width, b"\0") for e in elements)


def vlen():
    text = np.array(["", "a", "Zürich", "日本語", "x" * 11, None, "😀", "a\0b"], dtype=object)
    plain = [(t or "").encode() for t in text]
    encoded = raw(numcodecs.VLenUTF8().encode(text))
    row(numcodecs.VLenUTF8(), "text:12", (2, 4), "both", pad(plain, 12), encoded)
    for d in ("<U11", ">U12"):
        row(numcodecs.VLenUTF8(), d, (8,), "both", np.array([t or "" for t in text]).astype(d).tobytes(), encoded)
    row(numcodecs.VLenUTF8(), "|S13", (8,), "both", pad(plain, 13), encoded)
    row(numcodecs.VLenUTF8(), "text:4", (), "both", b"abc\0", raw(numcodecs.VLenUTF8().encode(np.array(["abc"], dtype=object))))
    bits = np.array([b"", b"\xff\xfe", b"\0\1", b"long enough"], dtype=object)
    row(numcodecs.VLenBytes(), "bytes:11", (4,), "both", pad(bits, 11), raw(numcodecs.VLenBytes().encode(bits)))


def zfp():
    import zfpy
    from numcodecs.zfpy import ZFPY
    grid = np.sin(np.arange(60) / 7).reshape(3, 4, 5) * 1000
    for shape in ((60,), (12, 5), (3, 4, 5), (1, 3, 4, 5)):
        for d in ("<f4", "<f8", "<i4", "<i8"):
            both(ZFPY(mode=zfpy.mode_fixed_accuracy, tolerance=-1), grid.astype(d).reshape(shape))
    for d in ("<f4", "<f8"):
        both(ZFPY(mode=zfpy.mode_fixed_rate, rate=9), grid.astype(d))
        both(ZFPY(mode=zfpy.mode_fixed_precision, precision=13), grid.astype(d))
        both(ZFPY(mode=zfpy.mode_fixed_accuracy, tolerance=0.01), grid.astype(d))
        both(ZFPY(mode=zfpy.mode_fixed_accuracy, tolerance=0), grid.astype(d))


def transpose():
    for d, shape in (("<f4", (3, 4, 5)), ("|u1", (17, 18)), ("<c16", (2, 3, 2, 3))):
        a = seeds.randint(0, 99, shape).astype(d)
        row({"id": "transpose", "order": "F"}, d, shape, "both", a.tobytes(), a.tobytes("F"))
        row({"id": "transpose", "order": [1, 0, 2, 3][:a.ndim]}, d, shape, "both", a.tobytes(),
            a.transpose([1, 0, 2, 3][:a.ndim]).tobytes())


for make in (shuffle, delta, scale_offset, quantize, bitround, astype, packbits, categorize, vlen, zfp, transpose):
    make()
os.makedirs(os.path.join(HERE, "filter"), exist_ok=True)
with open(os.path.join(HERE, "filter", "samples.tsv"), "w", encoding="ascii") as f:
    f.write("\n".join(lines) + "\n")

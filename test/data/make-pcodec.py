#!/usr/bin/python3
"""make-pcodec.py: writes the samples of pcodec/ and inputs for the fuzzer into fuzz/pcodec/, both beside it. A sample is a line of JSON
("dtype" as NumPy names it, "count", "bytes" of the stream), a pcodec stream, and the numbers that it stands for.

The streams are made here, from the description of the format (pcodec's docs/format.md), so that there are samples of all its versions,
types, modes and deltas, also of those that no encoder chooses. See make() for what can be said of one."""
import json
import os
import shutil

import numpy as np

HERE = os.path.dirname(os.path.abspath(__file__))
TYPES = {"u4": 1, "u8": 2, "i4": 3, "i8": 4, "f4": 5, "f8": 6, "u2": 7, "i2": 8, "f2": 9, "u1": 10, "i1": 11}
CLASSIC, INT_MULT, FLOAT_MULT, FLOAT_QUANT, DICT = range(5)
BATCH = 256


class Bits:
    def __init__(self):
        self.done, self.value, self.width = [], 0, 0

    def put(self, value, width):
        assert 0 <= value < 1 << width or width == value == 0
        self.value |= value << self.width
        self.width += width
        if self.width > 4096:
            whole = self.width // 8
            self.done.append((self.value & (1 << 8 * whole) - 1).to_bytes(whole, "little"))
            self.value >>= 8 * whole
            self.width -= 8 * whole

    def align(self):
        self.done.append(self.value.to_bytes((self.width + 7) // 8, "little"))
        self.value = self.width = 0

    def bytes(self):
        self.align()
        return b"".join(self.done)


def to_latent(x):
    """Numbers as unsigned integers of the same order."""
    unsigned = np.dtype("u%d" % x.dtype.itemsize)
    bits, top = x.view(unsigned), unsigned.type(1 << 8 * x.dtype.itemsize - 1)
    if x.dtype.kind == "u":
        return bits.copy()
    return bits ^ top if x.dtype.kind == "i" else np.where(bits >= top, ~bits, bits ^ top)


class Variable:
    """Latents of one variable: bins for them, and how a tANS machine says which."""

    def __init__(self, residuals, bits, bins, log, batches):
        self.T, self.log, self.batches = bits, log, batches
        self.residuals = [int(v) for v in residuals]
        self.choose_bins(sorted(self.residuals), bins)
        self.build_table()
        self.encode()

    def choose_bins(self, values, bins):
        """Bins of about as many values each. `bins` 0: none, where all values are 0."""
        starts = sorted({values[len(values) * i // bins] for i in range(bins)}) if bins and values else []
        self.bins = []  # weight, lower, offset bits
        for i, start in enumerate(starts):
            inside = [v for v in values if v >= start and (i + 1 == len(starts) or v < starts[i + 1])]
            self.bins.append([len(inside), start, (inside[-1] - start).bit_length()])
        if len(self.bins) < 2:
            self.log = 0
        while len(self.bins) > 1 << self.log:
            self.log += 1
        size, total = 1 << self.log, sum(b[0] for b in self.bins)
        for b in self.bins:
            b[0] = max(1, b[0] * size // total)
        while self.bins and sum(b[0] for b in self.bins) != size:
            largest = max(self.bins, key=lambda b: b[0])
            largest[0] += 1 if sum(b[0] for b in self.bins) < size else -1

    def build_table(self):
        size, step = 1 << self.log, 0
        stride = 3 * size // 5
        stride += 1 - stride % 2
        self.places = []
        symbol = [0] * size
        for i, (weight, _, _) in enumerate(self.bins):
            for _ in range(weight):
                symbol[stride * step & size - 1] = i
                step += 1
        self.places = [[] for _ in self.bins]
        for place, i in enumerate(symbol):
            if self.bins:
                self.places[i].append(place)

    def encode(self):
        """From the last symbol to the first: what each has to read."""
        lowers = np.array([b[1] for b in self.bins] or [0], np.uint64)
        self.chosen = np.searchsorted(lowers, np.array(self.residuals, np.uint64), "right").astype(int) - 1
        state, size = [0] * 4, 1 << self.log
        self.read = [(0, 0)] * len(self.residuals)
        at = len(self.residuals)
        for m in reversed(self.batches):
            at -= m
            for i in reversed(range(m if len(self.bins) > 1 else 0)):
                b = self.chosen[at + i]
                x, r, weight = state[i % 4] + size, 0, self.bins[b][0]
                while x >> r >= 2 * weight:
                    r += 1
                self.read[at + i] = (x & (1 << r) - 1, r)
                state[i % 4] = self.places[b][(x >> r) - weight]
        self.ans = state

    def put_bins(self, out):
        out.put(self.log, 4)
        out.put(len(self.bins), 15)
        for weight, lower, offset_bits in self.bins:
            out.put(weight - 1, self.log)
            out.put(lower, self.T)
            out.put(offset_bits, self.T.bit_length())

    def put_batch(self, out, at, m):
        for value, width in self.read[at:at + m]:
            out.put(value, width)
        for i in range(at, at + m if self.bins else at):
            _, lower, width = self.bins[self.chosen[i]]
            out.put(self.residuals[i] - lower, width)


def split_float(x, base):
    """Multiples of base, and how far the numbers are from them, in steps of their type."""
    size, top = 8 * x.dtype.itemsize, 1 << 8 * x.dtype.itemsize - 1
    unsigned = np.dtype("u%d" % x.dtype.itemsize)
    near = np.rint(x / x.dtype.type(base))
    near = np.where(np.abs(near) < 1 << 9 if size == 16 else np.abs(near) < 1 << 22, near, 0)
    negative = np.signbit(near)
    steps = np.abs(near).astype("u8")
    multiples = np.where(negative, top - 1 - steps, top + steps).astype(unsigned)
    product = near.astype(x.dtype) * x.dtype.type(base)
    return multiples, (to_latent(x) ^ unsigned.type(top)) - to_latent(product)


def split(x, mode, base):
    """Latents of both variables, and a dictionary."""
    latent = to_latent(x)
    if mode == INT_MULT:
        return latent // latent.dtype.type(base), latent % latent.dtype.type(base), None
    if mode == FLOAT_MULT:
        return *split_float(x, base), None
    if mode == FLOAT_QUANT:
        k, ones = latent.dtype.type(base), latent.dtype.type((1 << base) - 1)
        first = latent >> k
        positive = first >= latent.dtype.type(1 << 8 * x.dtype.itemsize - 1) >> k
        return first, np.where(positive, latent & ones, ones - (latent & ones)), None
    if mode == DICT:
        entries, index = np.unique(latent, return_inverse=True)
        return index.astype("u4"), None, entries
    return latent, None, None


def deltas(latent, delta, states, window, random):
    """The states of a page, its residuals, and lookbacks."""
    T = 8 * latent.dtype.itemsize
    mask, top, values = (1 << T) - 1, 1 << T - 1, [int(v) for v in latent]
    if delta is None:
        return [], values, None
    if delta[0] == "consecutive":
        state = []
        for _ in range(states):
            state.append(values[0] if values else 0)
            values = [(b - a) & mask for a, b in zip(values, values[1:])]
        return state, [v ^ top for v in values], None
    state = (values + [0] * states)[:states]
    backs, residuals = [], []
    for i in range(states, len(values)):
        if delta[0] == "lookback":
            back = int(random.integers(1, min(window, i + 3) + 1))
            backs.append(back)
            expected = values[i - back] if back <= i else 0
        else:
            _, shift, bias, weights = delta
            expected = max(0, bias + sum(w * v for w, v in zip(weights, values[i - states:i]))) >> shift
        residuals.append((values[i] - expected & mask) ^ top)
    return state, residuals, backs if delta[0] == "lookback" else None


def batches_of(n, states):
    return [min(BATCH, n - at, max(0, n - at - states)) for at in range(0, n, BATCH)]


def put_delta(out, version, delta, states, both):
    kind = delta[0] if delta else None
    if version < 3:
        assert kind in (None, "consecutive") and not both
        return out.put(states, 3)
    out.put([None, "consecutive", "lookback", "conv"].index(kind), 4)
    if kind == "consecutive":
        out.put(states, 3)
        out.put(both, 1)
    elif kind == "lookback":
        out.put(delta[1] - 1, 5)
        out.put(delta[2], 4)
        out.put(both, 1)
    elif kind == "conv":
        _, shift, bias, weights = delta
        out.put(shift, 5)
        out.put(bias + (1 << 63), 64)
        out.put(len(weights) - 1, 5)
        for w in weights:
            out.put(w + (1 << 31), 32)
    return None


def put_mode(out, x, mode, base, entries):
    L = 8 * x.dtype.itemsize
    out.put(mode, 4)
    if mode == INT_MULT:
        out.put(base, L)
    elif mode == FLOAT_MULT:
        out.put(int(to_latent(np.array([base], x.dtype))[0]), L)
    elif mode == FLOAT_QUANT:
        out.put(base, 8)
    elif mode == DICT:
        out.put(len(entries), 25)
        out.align()
        for e in entries:
            out.put(int(e), L)


def chunk(x, version=4, mode=CLASSIC, base=None, delta=None, both=False, bins=(2, 9, 3), log=6, seed=1):
    """One chunk without its type. delta: None, ("consecutive", order), ("lookback", log of the window, log of the states) or
    ("conv", shift, bias, weights); both: also of the secondary variable. bins: of deltas, of the primary and of the secondary."""
    random, out, n = np.random.default_rng(seed), Bits(), len(x)
    first, second, entries = split(x, mode, base)
    states = 0
    if delta:
        states = {"consecutive": lambda: delta[1], "lookback": lambda: 1 << delta[2], "conv": lambda: len(delta[3])}[delta[0]]()
    window = 1 << delta[1] if delta and delta[0] == "lookback" else 0
    state, residuals, backs = deltas(first, delta, states, window, random)
    variables = [[], []]
    batches = batches_of(n, states)
    if backs is not None:
        variables[0].append(Variable(backs, 32, bins[0], log, batches))
        variables[1].append([])
    variables[0].append(Variable(residuals, 8 * first.dtype.itemsize, bins[1], log, batches))
    variables[1].append(state)
    if second is not None:
        state, residuals = [], [int(v) for v in second]
        if both:
            again = np.random.default_rng(seed)  # the same lookbacks
            state, residuals, _ = deltas(second, delta, states, window, again)
        own = batches_of(n, states if both else 0)
        variables[0].append(Variable(residuals, 8 * second.dtype.itemsize, bins[2], log, own))
        variables[1].append(state)
    out.put(n - 1, 24)
    put_mode(out, x, mode, base, entries)
    put_delta(out, version, delta, states, both)
    for v in variables[0]:
        v.put_bins(out)
    out.align()
    put_page(out, *variables)
    return out.bytes()


def put_page(out, variables, states):
    for v, state in zip(variables, states):
        for s in state:
            out.put(s, v.T)
        for s in v.ans:
            out.put(s, v.log)
    out.align()
    at = [0] * len(variables)
    for i in range(max(len(v.batches) for v in variables)):
        for j, v in enumerate(variables):
            v.put_batch(out, at[j], v.batches[i])
            at[j] += v.batches[i]


def make(chunks, dtype, version=4, standalone=3, uniform=False):
    """A stream of chunks of this dtype."""
    kind = TYPES[dtype]
    head = b"pco!"
    if version < 2 and standalone < 2:
        head += bytes([version])
    else:
        head += bytes([standalone]) + (bytes([kind if uniform else 0]) if standalone == 3 else b"")
        hint = Bits()
        hint.put(11, 6)
        hint.put(1234, 12)
        head += hint.bytes() + bytes([version]) + (b"\1" if version >= 4 else b"")
    return head + b"".join(bytes([kind]) + c for c in chunks) + b"\0"


def numbers(dtype, n, look, seed=3):
    """walk: neighbours are close; tenths: nearly multiples of 0.1; few: of few values; any: all bits."""
    random, kind = np.random.default_rng(seed), np.dtype(dtype)
    if look == "any":
        return random.integers(0, 256, n * kind.itemsize).astype("u1").view(kind)
    if look == "few":
        return random.choice(numbers(dtype, 20, "any", seed), n)
    walk = np.cumsum(random.integers(-3, 5, n)) + 7
    if kind.kind != "f":
        return (walk * 5 if look == "tenths" else walk).astype(kind)
    x = (walk * 0.1 if look == "tenths" else walk / 7).astype(kind)
    x[n // 3:n // 3 + 2] = [np.inf, -0.0][:len(x[n // 3:n // 3 + 2])]
    return np.where(walk % 11 == 3, np.nextafter(x, kind.type(9)), x)


def samples():
    """Name, dtype, numbers, stream."""
    for dtype in TYPES:
        x = numbers(dtype, 300, "any")
        yield "any-" + dtype, dtype, x, make([chunk(x)], dtype)
        x = numbers(dtype, 700, "walk")
        yield "walk-" + dtype, dtype, x, make([chunk(x, delta=("consecutive", 1 + TYPES[dtype] % 7), log=9)], dtype)
        x = numbers(dtype, 300, "few")
        yield "few-" + dtype, dtype, x, make([chunk(x, mode=DICT, delta=("consecutive", 1))], dtype)
        x = numbers(dtype, 520, "tenths")
        if dtype[0] == "f":
            base = np.dtype(dtype).type(0.1)
            for both in (False, True):
                c = chunk(x, mode=FLOAT_MULT, base=base, delta=("consecutive", 2), both=both)
                yield "mult-%s-%d" % (dtype, both), dtype, x, make([c], dtype)
            yield "quant-" + dtype, dtype, x, make([chunk(x, mode=FLOAT_QUANT, base=6, delta=("consecutive", 1))], dtype)
        else:
            yield "mult-" + dtype, dtype, x, make([chunk(x, mode=INT_MULT, base=5, delta=("lookback", 5, 2), both=True)], dtype)
        x = numbers(dtype, 700, "walk")
        c = chunk(x, delta=("lookback", 3 if dtype[1] == "8" else 7, TYPES[dtype] % 4), bins=(3, 14, 1))
        yield "back-" + dtype, dtype, x, make([c], dtype)
        x = x if dtype[1] != "8" else numbers(dtype, 700, "few")
        c = chunk(x, mode=DICT if dtype[1] == "8" else CLASSIC, log=5, bins=(1, 20, 1),
                  delta=("conv", 2, -30, [-1, 2, 3] if TYPES[dtype] % 2 else [4]))
        yield "conv-" + dtype, dtype, x, make([c], dtype)
    yield from odd_samples()


def odd_samples():
    """Versions, sizes, bins."""
    x = numbers("i4", 600, "walk")
    for version, standalone in (0, 0), (1, 1), (1, 2), (2, 2), (3, 2), (3, 3), (4, 3):
        name = "version-%d-%d" % (version, standalone)
        delta = ("consecutive", 2)
        yield name, "i4", x, make([chunk(x, version, delta=delta)], "i4", version, standalone, uniform=version == 3)
    for n in 1, 2, 3, 255, 256, 257, 258, 512, 513, 515:
        x = numbers("u2", n, "walk")
        yield "count-%d" % n, "u2", x, make([chunk(x, delta=("consecutive", 3))], "u2")
        yield "window-%d" % n, "u2", x, make([chunk(x, delta=("lookback", 4, 4))], "u2")
    x = numbers("f4", 2000, "walk")
    yield "tables", "f4", x, make([chunk(x, bins=(1, 700, 1), log=12)], "f4")
    x = np.full(1000, 77, "i8")
    yield "constant", "i8", x, make([chunk(x, bins=(1, 1, 1))], "i8")
    x = np.full(3, -1 << 63, "i8")
    yield "binless", "i8", x, make([chunk(x, mode=INT_MULT, base=3, delta=("consecutive", 3), bins=(1, 0, 0))], "i8")
    x = numbers("u8", 300, "any")
    yield "wide", "u8", x, make([chunk(x, bins=(1, 1, 1))], "u8")
    x = numbers("f8", 1500, "walk")
    cuts = [chunk(x[:500], delta=("consecutive", 2)), chunk(x[500:501]), chunk(x[501:], mode=FLOAT_QUANT, base=20)]
    yield "chunks", "f8", x, make(cuts, "f8")
    weights = [int(w) for w in np.random.default_rng(5).integers(-60, 90, 32)]
    x = numbers("i4", 900, "any")
    yield "conv-long", "i4", x, make([chunk(x, delta=("conv", 9, 12345, weights))], "i4")
    x = numbers("u1", 5000, "walk")
    yield "window-small", "u1", x, make([chunk(x, delta=("lookback", 1, 1), bins=(2, 6, 1))], "u1")
    x = numbers("f4", 9000, "few")
    yield "window-slides", "f4", x, make([chunk(x, delta=("lookback", 6, 3), bins=(4, 3, 1))], "f4")
    x = np.array([], "f4")
    yield "empty", "f4", x, make([], "f4")


def main():
    out, fuzz = os.path.join(HERE, "pcodec"), os.path.join(HERE, "fuzz", "pcodec")
    for folder in out, fuzz:
        shutil.rmtree(folder, ignore_errors=True)
        os.makedirs(folder)
    for name, dtype, x, stream in samples():
        head = {"dtype": dtype, "count": len(x), "bytes": len(stream)}
        with open(os.path.join(out, name), "wb") as f:
            f.write(json.dumps(head).encode() + b"\n" + stream + x.tobytes())
        if len(x) and len(stream) < 1500:
            with open(os.path.join(fuzz, name), "wb") as f:
                f.write(bytes([TYPES[dtype] - 1, (len(x) - 1) & 255, (len(x) - 1) >> 8]) + stream)


if __name__ == "__main__":
    main()

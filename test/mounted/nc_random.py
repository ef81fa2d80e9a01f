"""nc_random.py make FILE SEED: a netCDF file with variables of several types and records
nc_random.py run FILE MOUNTED SEED STEPS: the same random edits to a plain netCDF file and to a mounted one, which then hold the same
What is printed last of a failed run is what was done."""

import random
import shutil
import subprocess
import sys

import netCDF4
import numpy as np
from nc_write import same

TYPES = ["f4", "f8", "i2", "i4", "i1"]
DIMS = [("t", "y", "x"), ("t", "y"), ("t",), ("y", "x"), ("x",)]


def values(shape, dtype):
    return np.random.randint(-100, 100, size=shape).astype(dtype)


def make(path, rnd):
    with netCDF4.Dataset(path, "w", format="NETCDF3_CLASSIC") as d:
        for name, size in ("t", None), ("y", rnd.randint(1, 12)), ("x", rnd.randint(1, 15)):
            d.createDimension(name, size)
        rows = rnd.randint(1, 9)
        for i, dims in enumerate(DIMS):
            v = d.createVariable(f"a{i}", TYPES[i], dims)
            v[...] = values([rows if k == "t" else len(d.dimensions[k]) for k in dims], TYPES[i])
            v.units = "m"


class Edits:
    """Edits of a file that netCDF4 makes, drawn for its dimensions and variables."""

    def __init__(self, rnd, path):
        self.rnd, self.done = rnd, []
        with netCDF4.Dataset(path) as d:
            self.size = {k: len(v) for k, v in d.dimensions.items()}
            self.dims = {k: (v.dimensions, v.dtype) for k, v in d.variables.items()}

    def shape(self, name):
        return [self.size[k] for k in self.dims[name][0]]

    def part(self):
        name = self.rnd.choice(list(self.dims))
        key = tuple(slice(self.rnd.randint(0, n - 1), n - self.rnd.randint(0, n // 3)) for n in self.shape(name))
        shape = [len(range(*s.indices(n))) for s, n in zip(key, self.shape(name))]
        data = values(shape, self.dims[name][1])
        self.add(f"part of {name}", lambda d: d[name].__setitem__(key, data))

    def records(self):
        name = self.rnd.choice([k for k, (dims, _) in self.dims.items() if dims[0] == "t"])
        n, more = self.size["t"], self.rnd.randint(1, 3)
        data = values([more] + self.shape(name)[1:], self.dims[name][1])
        self.size["t"] += more
        self.add(f"{more} records of {name}", lambda d: d[name].__setitem__(slice(n, n + more), data))

    def attribute(self):
        where = self.rnd.choice([None] + list(self.dims))
        name = self.rnd.choice(["units", "note", "other"])
        value = self.rnd.choice(["s" * self.rnd.randint(1, 60), 1.5, np.arange(3) + 0.5, "é"])  # others take the type that is recorded
        self.add(f"attribute {name} of {where}", lambda d: (d[where] if where else d).setncattr(name, value))

    def variable(self):
        name, dims, dtype = f"n{len(self.dims)}", self.rnd.choice(DIMS), self.rnd.choice(TYPES)
        self.dims[name] = dims, np.dtype(dtype)
        data = values(self.shape(name), dtype)
        self.add(f"variable {name}", lambda d: d.createVariable(name, dtype, dims).__setitem__(Ellipsis, data))

    def sync(self):
        self.add("sync", lambda d: d.sync())

    def add(self, what, edit):
        self.done.append((what, edit))

    def draw(self):
        for _ in range(self.rnd.randint(1, 6)):
            self.rnd.choice([self.part] * 3 + [self.records, self.attribute, self.variable, self.sync])()
        return ", ".join(what for what, _ in self.done)

    def apply(self, path):
        with netCDF4.Dataset(path, "r+") as d:
            d.set_auto_mask(False)
            for _, edit in self.done:
                edit(d)


def run(plain, mounted, rnd, steps):
    for step in range(steps):
        edits = Edits(rnd, plain)
        what, how = edits.draw(), rnd.choice(["", "", "cp", "mv"])
        edits.apply(plain)
        if not how:
            edits.apply(mounted)
        else:
            shutil.copy(plain, plain + ".copy")
            subprocess.run([how, plain + ".copy", mounted], check=True)
        if same(mounted, plain):
            print(f"step {step}, {how or 'by netCDF4'}: {what}")
            return 1
    return 0


def main():
    verb, path, seed = sys.argv[1], sys.argv[2], int(sys.argv[3] if sys.argv[1] == "make" else sys.argv[4])
    rnd = random.Random(seed)
    np.random.seed(seed)
    return make(path, rnd) if verb == "make" else run(path, sys.argv[3], rnd, int(sys.argv[5]))


if __name__ == "__main__":
    sys.exit(main())

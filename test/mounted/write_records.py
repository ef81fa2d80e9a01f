"""write_records.py run HOW MOUNT OTHER PROGRAM: four writers append records of the variables of a store of four_writers.py, each those of one: two in either
mount, by PROGRAM (write_records.c), which has its file open all the time: VAR.nc, or, HOW being mixed, dataset.nc, and netCDF4 opens VAR.nc for each record.
No writer begins before all of PROGRAM have their files: while an array has grown and the next one has not, dataset.nc has records of the first alone.
write_records.py check STORE: they are all there, and every variable is as long as time."""

import subprocess
import sys

import stores
from four_writers import FIRST, ROWS, VARIABLES

ONE = """import sys, netCDF4
for k in range(%d, %d):
    with netCDF4.Dataset(sys.argv[1], "r+") as file:
        file[sys.argv[2]][k] = int(sys.argv[3]) + k""" % (FIRST, FIRST + ROWS)


def run(how, mount, other, program):
    opened, others = [], []
    for i, name in enumerate(VARIABLES):
        at = (mount, other)[i % 2]
        file = "%s/%s.nc" % (at, "dataset" if how == "mixed" and i < 2 else name)
        if how == "mixed" and i >= 2:
            others.append((name, [sys.executable, "-c", ONE, file, name, str(1000 * i)]))
            continue
        command = [program, file, name, str(FIRST), str(ROWS), str(1000 * i)]
        opened.append((name, subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)))
    for name, writer in opened:
        writer.stdout.readline()
    writers = opened + [(name, subprocess.Popen(command)) for name, command in others]
    for name, writer in opened:
        writer.stdin.close()
    sys.exit("\n".join("the writer of %s failed" % name for name, writer in writers if writer.wait()) or None)


def check(store):
    bad = []
    for i, name in enumerate(VARIABLES):
        a = stores.values(store, name)
        rows = [sorted(set(row)) for row in a.reshape(len(a), -1)[FIRST:].tolist()]
        if rows != [[1000 * i + k] for k in range(FIRST, FIRST + ROWS)]:
            bad.append("%s: %s" % (name, rows))
        if a[:FIRST].reshape(-1).tolist() != list(range(a[:FIRST].size)):
            bad.append("%s: %s" % (name, a[:FIRST]))
    sys.exit("\n".join(bad) or None)


{"run": run, "check": check}[sys.argv[1]](*sys.argv[2:])

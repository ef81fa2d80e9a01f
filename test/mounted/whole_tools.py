"""What tools read of a netCDF file of three dimensions: for each a function of path, variable and folder for what it writes, which gives the planes
that it read by their step. A plane that it says it cannot read is not there; nor is any where the tool ends with an error."""

import os
import pickle
import re
import shutil
import subprocess

import netCDF4
import numpy as np

STEPS, PLANE = 5, (150, 200)  # planes of 120,000 bytes: no whole pages, and blocks of 256 KiB hold parts of three
UNREADABLE = (RuntimeError, OSError)


def forked(read):
    """In a process of its own, which an error in a mapping may end."""
    def run(path, name, folder):
        out = os.path.join(folder, "planes")
        child = os.fork()
        if child == 0:
            status = 1
            try:
                got = read(path, name)
                with open(out, "wb") as file:
                    pickle.dump(got, file)
                status = 0
            except UNREADABLE:
                pass
            finally:
                os._exit(status)
        if os.waitpid(child, 0)[1]:
            return {}
        with open(out, "rb") as file:
            return pickle.load(file)
    return run


def by_netcdf4(order):
    """order: pieces in the order in which they are read, each a step and its first and last row. One that cannot be read costs its step, unless the
    same is read again later; what is read twice is both times the same."""
    def read(path, name):
        got, bad = {}, set()
        with netCDF4.Dataset(path) as nc:
            nc.set_auto_mask(False)
            for step, first, last in order:
                try:
                    rows = nc[name][step, first:last]
                except UNREADABLE:
                    bad.add(step)
                    continue
                plane = got.setdefault(step, np.full(PLANE, np.nan, "f4"))
                before = plane[first:last]
                plane[first:last] = np.where((before == before) & (before != rows), -1, rows)
        return {step: plane for step, plane in got.items() if step not in bad or (plane == plane).all() or (plane < 0).any()}
    return forked(read)


def pieces(steps, cuts):
    return [(step, first, last) for step in steps for first, last in zip(cuts, cuts[1:])]


def scattered():
    order = pieces(range(STEPS), (0, 40, 70, 110, 150))
    np.random.default_rng(5).shuffle(order)
    return [tuple(int(n) for n in piece) for piece in order]


def in_one(path, name):
    with netCDF4.Dataset(path) as nc:
        nc.set_auto_mask(False)
        return dict(enumerate(nc[name][...]))


def by_scipy(path, name):
    import scipy.io
    with scipy.io.netcdf_file(path, mmap=True) as file:
        return dict(enumerate(np.array(file.variables[name][...]).astype("f4")))


def by_xarray(engine):
    def read(path, name):
        import xarray
        with xarray.open_dataset(path, engine=engine, mask_and_scale=False, decode_times=False) as data:
            return {step: data[name][step].values for step in range(STEPS)}
    return forked(read)


def by_h5py(path, name):
    import h5py
    got = {}
    with h5py.File(path) as file:
        for step in 2 * list(range(STEPS)):
            try:
                got[step] = file[name][step]
            except OSError:
                pass
    return got


def run_tool(command, folder):
    """(what it wrote, what it said of errors, whether it succeeded)"""
    try:
        done = subprocess.run(command, cwd=folder, stdin=subprocess.DEVNULL, capture_output=True, timeout=200, check=False)
    except subprocess.TimeoutExpired:
        return b"", b"", False
    return done.stdout, done.stderr, done.returncode == 0


def written(command, read, script=""):
    """What a command has written to OUT, unless it ends with an error. Those that have no exit status, and read SCRIPT, say so."""
    def run(path, name, folder):
        def filled(text):
            return text.replace("IN", path).replace("OUT", out).replace("VAR", name).replace("FOLDER", folder)
        out = os.path.join(folder, "out.nc")
        if script:
            with open(os.path.join(folder, "whole.script"), "w", encoding="utf8") as file:
                file.write(filled(script))
        wrote, said, good = run_tool([filled(a) for a in command], folder)
        if not good or not os.path.exists(out) or (script and re.search(b"[Ee]rror|ERROR", wrote + said)):
            return {}
        return read(out, name, folder)
    return run


def numbers(dtype="<f4", south_first=False):
    def read(path, *_):
        values = np.fromfile(path, dtype).astype("f4")
        if values.size != STEPS * PLANE[0] * PLANE[1]:
            return {}
        values = values.reshape((STEPS,) + PLANE)
        return dict(enumerate(values[:, ::-1] if south_first else values))
    return read


def by_ncdump(path, name, folder):
    text, _, good = run_tool(["ncdump", "-p", "9", "-v", name, path], folder)
    if not good:
        return {}
    text = text.decode().split("data:")[1].split("=")[1].split(";")[0]
    return dict(enumerate(np.array(text.split(","), "f4").reshape((STEPS,) + PLANE)))


def by_cdo(path, name, folder):
    """Each step on its own: CDO takes 256 KiB from the file's beginning on."""
    got = {}
    for step in range(STEPS):
        out = os.path.join(folder, "%d.nc" % step)
        if run_tool(["cdo", "-s", "-O", "seltimestep,%d" % (step + 1), path, out], folder)[2]:
            with netCDF4.Dataset(out) as nc:
                got[step] = np.array(nc[name][0])
    return got


def by_gmt(path, name, folder):
    got = {}
    for step in range(STEPS):
        plane, _, good = run_tool(["gmt", "grd2xyz", "%s?%s[%d]" % (path, name, step), "-ZTLf"], folder)
        if good and len(plane) == 4 * PLANE[0] * PLANE[1]:
            got[step] = np.frombuffer(plane, "<f4").reshape(PLANE)
    return got


def by_r(code):
    return written(("Rscript", "-e", code + "; writeBin(as.vector(v), 'OUT', size=4)"), numbers())


TOOLS = {
    "netCDF4": by_netcdf4(2 * pieces(range(STEPS), (0, 150))),
    "netCDF4, backwards": by_netcdf4(pieces(reversed(range(STEPS)), (0, 70, 150))),
    "netCDF4, at random": by_netcdf4(scattered()),
    "netCDF4, in one": forked(in_one),
    "xarray": by_xarray("netcdf4"),
    "xarray, scipy": by_xarray("scipy"),
    "xarray, h5netcdf": by_xarray("h5netcdf"),
    "scipy, mapped": forked(by_scipy),
    "h5py": forked(by_h5py),
    "h5repack": written(("h5repack", "IN", "OUT"), forked(in_one)),
    "ncdump": by_ncdump,
    "nccopy": written(("nccopy", "IN", "OUT"), forked(in_one)),
    "cdo": written(("cdo", "-s", "-O", "copy", "IN", "OUT"), forked(in_one)),
    "cdo, steps": by_cdo,
    "ncks": written(("ncks", "-O", "-t", "1", "IN", "OUT"), forked(in_one)),
    "ncrcat": written(("ncrcat", "-O", "-d", "time,0,4", "IN", "OUT"), forked(in_one)),
    "gdal_translate": written(("gdal_translate", "--config", "GDAL_NETCDF_BOTTOMUP", "NO", "-q", "-of", "ENVI", "NETCDF:IN:VAR", "OUT"), numbers()),
    "gmt": by_gmt,
    "octave": written(("octave-cli", "-qf", "--eval", "pkg load netcdf; v = ncread('IN', 'VAR'); f = fopen('OUT', 'w'); fwrite(f, v, 'float32'); fclose(f);"), numbers()),
    "Rscript": by_r("library(ncdf4); v <- ncvar_get(nc_open('IN'), 'VAR', raw_datavals=TRUE)"),
    "Rscript, RNetCDF": by_r("library(RNetCDF); v <- var.get.nc(open.nc('IN'), 'VAR')"),
    "pyferret3": written(("pyferret3", "-nodisplay", "-script", "FOLDER/whole.script"), numbers("<f8", True),
                         'use "IN"\nlist/nohead/format=stream/file="OUT"/clobber VAR\nquit\n'),
    "grads": written(("grads", "-blc", "run FOLDER/whole.script"), numbers("<f4", True),
                     "'sdfopen IN'\n'set gxout fwrite'\n'set fwrite -le -st OUT'\n'set x 1 %d'\n'set y 1 %d'\n'set t 1 %d'\n'd VAR'\n'disable fwrite'\n'quit'\n" %
                     (PLANE[1], PLANE[0], STEPS)),
}
EXACT = ("cdo, steps",)  # right only where each read() is whole or fails
FAST = ("netCDF4", "netCDF4, backwards", "netCDF4, at random", "netCDF4, in one", "h5py", "h5repack", "ncdump", "nccopy", "cdo", "cdo, steps", "ncks", "ncrcat")
# Takes no notice of errors that libnetcdf reports, also where every read() is whole or an error: its status is 0, and what it lacks NaN. No file system
# can tell it better.
DEAF = ("gmt",)
MODULES = {"netCDF4": "netCDF4", "xarray": "xarray", "scipy": "scipy", "h5py": "h5py"}


def is_there(tool):
    program = tool.split(",")[0]
    if program not in MODULES:
        return shutil.which({"octave": "octave-cli"}.get(program, program))
    try:
        __import__(tool.split(", ")[1] if tool in ("xarray, scipy", "xarray, h5netcdf") else MODULES[program])
    except ImportError:
        return False
    return True


def opens(tool, path):
    """Some know one of the formats alone."""
    if tool in ("h5py", "h5repack", "xarray, h5netcdf"):
        return path.endswith("4")
    if tool == "ncrcat":
        return path.endswith(".rec.nc")
    return not path.endswith("4") or tool not in ("xarray, scipy", "scipy, mapped")

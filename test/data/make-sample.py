#!/usr/bin/python3
"""make-sample.py [STORE]: writes sample.zarr, the store that scripts/mount shows when it is given none, and sample.sha256,
what each of its flat files holds (endian=little).

The numbers are the tropical and North Atlantic of NOAA's COADS monthly climatology as Debian's ferret-datasets has it, a
work of the US government in the public domain. Needs ferret-datasets, python3-zarr and python3-netcdf4."""

import hashlib
import os
import shutil
import sys

import netCDF4
import numcodecs
import numpy as np
import zarr

SOURCE = "/usr/share/ferret-vis/data/coads_climatology.cdf"
HERE = os.path.dirname(os.path.abspath(__file__))
REGIONS = ["Atlantic Ocean", "Océan Atlantique tropical", "Mar Caribe", "Golfo de México", "Sargasso Sea", "Норвежское море", "大西洋"]


def add(group, name, values, dims, attrs, **how):
    """One array with its dimensions and attributes, and its bytes as a mount shows them."""
    array = group.create_dataset(name, data=values, **how)
    array.attrs.update({"_ARRAY_DIMENSIONS": dims, **attrs})
    if values.dtype == object:
        texts = [text.encode() for text in values.flat]
        width = max(map(len, texts))
        return b"".join(text.ljust(width, b"\0") for text in texts)
    return values.astype(values.dtype.newbyteorder("<")).tobytes()


def write(store, data):
    lat, lon = data["COADSY"][:], data["COADSX"][:]
    rows, columns = np.where((lat > -20) & (lat < 70))[0], np.where((lon > 260) & (lon < 380))[0]
    piece = (slice(None), slice(rows[0], rows[-1] + 1), slice(columns[0], columns[-1] + 1))
    axes = ["time", "lat", "lon"]
    zlib, zstd = numcodecs.Zlib(6), numcodecs.Zstd(12)
    blosc = numcodecs.Blosc("zstd", 9, numcodecs.Blosc.BITSHUFFLE)
    flat = {}

    root = zarr.group(zarr.DirectoryStore(store), overwrite=True)
    root.attrs.update({
        "Conventions": "CF-1.8",
        "title": "COADS monthly climatology, tropical and North Atlantic",
        "source": "NOAA/PMEL, coads_climatology.cdf of Debian's ferret-datasets",
    })
    flat["time"] = add(root, "time", data["TIME"][:].filled(), ["time"],
        {"standard_name": "time", "axis": "T", "units": "hours since 0001-01-01 00:00:00", "calendar": "standard"}, compressor=None, fill_value=None)
    flat["lat"] = add(root, "lat", lat[rows].filled(), ["lat"],
        {"standard_name": "latitude", "axis": "Y", "units": "degrees_north"}, compressor=zlib, fill_value=None)
    flat["lon"] = add(root, "lon", lon[columns].filled(), ["lon"],
        {"standard_name": "longitude", "axis": "X", "units": "degrees_east"}, compressor=zlib, fill_value=None)
    missing = float(data["SST"]._FillValue)
    flat["sst"] = add(root, "sst", data["SST"][piece].filled(missing), axes,
        {"standard_name": "sea_surface_temperature", "long_name": "sea surface temperature", "units": "degree_Celsius",
         "_FillValue": missing, "missing_value": missing, "grid_mapping": "crs", "cell_methods": "time: mean within years time: mean over years"},
        chunks=(4, 45, 60), compressor=zlib, filters=[numcodecs.Shuffle(4)], fill_value=missing)
    flat["crs"] = add(root, "crs", np.array(0, "<i4"), [],
        {"grid_mapping_name": "latitude_longitude", "earth_radius": 6371229.0}, fill_value=None)
    months = np.array("Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec".split(), "S3")
    flat["month"] = add(root, "month", months, ["time"], {"long_name": "name of the month"}, compressor=None, fill_value=None)
    flat["region"] = add(root, "region", np.array(REGIONS, object), ["region"],
        {"long_name": "what people call parts of it"}, object_codec=numcodecs.VLenUTF8(), compressor=zstd, fill_value="")

    wind = root.create_group("wind")
    wind.attrs["comment"] = "stored in ways that readers must not notice: column-major, big-endian, chunks that do not divide the shape"
    for name, source, long_name, how in [
        ("u", "UWND", "eastward_wind", {"chunks": (5, 20, 40), "compressor": blosc}),
        ("v", "VWND", "northward_wind", {"chunks": (7, 30, 30), "compressor": zstd, "order": "F", "dtype": ">f4"}),
    ]:
        values = data[source][piece].filled(missing)
        flat["wind/" + name] = add(wind, name, values.astype(how.pop("dtype", "<f4")), axes,
            {"standard_name": long_name, "units": "m s-1", "_FillValue": missing, "grid_mapping": "crs"}, fill_value=missing, **how)
    zarr.consolidate_metadata(root.store)
    return flat


def main():
    store = sys.argv[1] if len(sys.argv) > 1 else os.path.join(HERE, "sample.zarr")
    shutil.rmtree(store, ignore_errors=True)
    with netCDF4.Dataset(SOURCE) as data:
        flat = write(store, data)
    with open(os.path.splitext(store)[0] + ".sha256", "w") as sums:
        for name in sorted(flat):
            sums.write("%s  %s\n" % (hashlib.sha256(flat[name]).hexdigest(), name))


main()

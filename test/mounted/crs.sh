#!/bin/bash
# Coordinate reference systems that the store states in GDAL's or STAC's way: the netCDF files have a grid mapping, which GDAL and xarray find.
. "$(dirname "$0")/functions.sh"

needs gdalinfo ncdump
"$python" -c 'import netCDF4, xarray' 2>/dev/null || skip "no netCDF4 or xarray for Python"
"$python" - "$tmp/stores" <<'END' || exit 1
import sys
import numpy as np
import zarr

FOLDER = sys.argv[1]
LAEA = ('PROJCS["made up",GEOGCS["WGS 84",DATUM["WGS_1984",SPHEROID["WGS 84",6378137,298.257223563]],PRIMEM["Greenwich",0],UNIT["degree",0.0174532925199433]],'
        'PROJECTION["Lambert_Azimuthal_Equal_Area"],PARAMETER["latitude_of_center",52],PARAMETER["longitude_of_center",10],'
        'PARAMETER["false_easting",4321000],PARAMETER["false_northing",3210000],UNIT["metre",1]]')


def put(group, name, values, dims, **attrs):
    array = group.create_dataset(name, data=np.asarray(values), fill_value=None)
    array.attrs.update({"_ARRAY_DIMENSIONS": dims, **attrs})


def make(name, attrs, of_group={}, consolidated=True):
    g = zarr.open_group(FOLDER + "/" + name, "w")
    g.attrs.update(of_group)
    put(g, "b", np.arange(12, dtype="f4").reshape(3, 4), ["y", "x"], **attrs)
    put(g, "x", 500000 + 10 * np.arange(4.0), ["x"], standard_name="projection_x_coordinate", units="m", bounds="x_bnds")
    put(g, "y", 5000000 - 10 * np.arange(3.0), ["y"], standard_name="projection_y_coordinate", units="m")
    put(g, "x_bnds", np.zeros((4, 2)), ["x", "nv"])
    put(g, "table", np.arange(3.0), ["y"])
    if consolidated:
        zarr.consolidate_metadata(g.store)
    return g


make("wkt", {"_CRS": {"wkt": LAEA, "projjson": {"id": {"authority": "EPSG", "code": 4326}}, "url": "http://www.opengis.net/def/crs/EPSG/0/4326"}})
make("url", {"_CRS": {"url": "http://www.opengis.net/def/crs/EPSG/0/32632"}})
make("projjson", {"_CRS": {"projjson": {"type": "ProjectedCRS", "id": {"authority": "EPSG", "code": 32733}}}})
make("code", {}, {"proj:code": "EPSG:32632"})
make("plain", {}, {"proj:code": "EPSG:32632"}, False)
make("epsg", {"proj:epsg": 3857}, {"proj:code": "EPSG:32632"})
make("wkt2", {"proj:wkt2": LAEA, "proj:epsg": 4326})
make("stac", {}, {"proj:projjson": {"id": {"authority": "EPSG", "code": 4326}}})
make("other", {}, {"proj:code": "EPSG:31467"})
make("nonsense", {"_CRS": "[", "proj:wkt2": "EPSG:32632", "proj:code": "ESRI:32632", "proj:epsg": 1.5, "proj:projjson": {"id": 7}})
make("least", {"proj:epsg": -2**63})
make("mapped", {"grid_mapping": "where"}, {"proj:code": "EPSG:32632"})
g = make("several", {"proj:epsg": 32632})
put(g, "c", np.zeros((3, 4)), ["y", "x"], **{"proj:epsg": 32633})
put(g, "d", np.zeros((3, 4)), ["y", "x"], **{"proj:epsg": 32632})
put(g, "crs", np.zeros((3, 4)), ["y", "x"])
for i in range(20):
    put(g, "z%02d" % i, np.zeros((3, 4)), ["y", "x"], **{"proj:epsg": 32701 + i})
zarr.consolidate_metadata(g.store)
END

must_mount "$tmp/stores"
while read -r name want; do
	gdalinfo "$mnt/$name/b.nc" >"$tmp/info" 2>"$tmp/err" || fail "gdalinfo of $name: $(cat "$tmp/err")"
	same "what GDAL says to $name" "$(cat "$tmp/err")" ""
	same "the CRS of $name" "$(sed -n 's/^\(PROJ\|GEOG\)CRS\["\(.*\)",$/\2/p' "$tmp/info")" "$want"
done <<'END'
wkt made up
url WGS 84 / UTM zone 32N
projjson WGS 84 / UTM zone 33S
code WGS 84 / UTM zone 32N
plain WGS 84 / UTM zone 32N
epsg WGS 84 / Pseudo-Mercator
wkt2 made up
stac WGS 84
other
nonsense
least
END
same "its corner" "$(gdalinfo "$mnt/code/b.nc" | sed -n 's/^Origin = //p')" "(499995.000000000000000,5000005.000000000000000)"

# mappings FILE: what has which
mappings()
{
	ncdump -h "$mnt/$1" | sed -n 's/^		\(.*\):grid_mapping = "\(.*\)" ;/\1=\2/p' | sort | paste -sd ' '
}
same "what of a group is on its grid" "$(mappings code/dataset.nc)" "b=crs"
same "a table" "$(mappings code/table.nc)" ""
same "bounds" "$(mappings code/x_bnds.nc)" ""
same "one that has its own" "$(mappings mapped/b.nc)" "b=where"
same "one of several" "$(mappings several/d.nc)" "d=crs"
same "several" "$(mappings several/dataset.nc | cut -d' ' -f1-5)" "b=crs_2 c=crs_3 d=crs_2 z00=crs_4 z01=crs_5"
same "as many as there may be" "$(mappings several/dataset.nc | wc -w)" 17
same "records" "$(mappings several/dataset.rec.nc | cut -d' ' -f1-2)" "b=crs_2 c=crs_3"
"$python" - "$mnt" <<'END' || fail "values or attributes differ"
import sys
import netCDF4
import numpy as np
import xarray

for file in "code/b.nc", "code/b.rec.nc", "code/b.cdf5.nc", "code/dataset.nc", "several/dataset.rec.nc":
    with xarray.open_dataset(sys.argv[1] + "/" + file, decode_coords="all") as d:
        crs = d[d.b.encoding["grid_mapping"]]
        assert (d.b.values == np.arange(12).reshape(3, 4)).all() and crs.values == 0, file
        assert list(d.x) == [500000, 500010, 500020, 500030], file
        assert crs.attrs["crs_wkt"] == crs.attrs["spatial_ref"] and crs.attrs["crs_wkt"].startswith('PROJCS["WGS 84 / UTM zone 32N",'), file
with netCDF4.Dataset(sys.argv[1] + "/wkt/b.nc") as d:
    assert d["crs"].shape == () and d["crs"].dtype == "i4" and d["b"].getncattr("_CRS")
END
command -v cdo >/dev/null && { cdo -s -O copy "$mnt/code/b.nc" "$tmp/out.nc" 2>"$tmp/err" || fail "cdo: $(cat "$tmp/err")"; }
exit $((failures != 0))

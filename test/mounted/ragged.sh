#!/bin/bash
# Ragged arrays of CF chapter 9: the netCDF file of a variable has the variable that says to which feature each sample belongs, and xarray can divide it.
. "$(dirname "$0")/functions.sh"

needs ncdump
"$python" -c "import xarray" 2>/dev/null || skip "no xarray for Python"
"$python" - "$tmp/stores" <<'END' || exit 1
import sys
import numpy as np
import zarr

FOLDER = sys.argv[1]


def put(group, name, values, dims, **attrs):
    array = group.create_dataset(name, data=np.asarray(values), fill_value=None)
    array.attrs.update(_ARRAY_DIMENSIONS=dims, **attrs)


def contiguous(name, **attrs):
    g = zarr.open_group(FOLDER + "/" + name, "w")
    g.attrs.update(attrs)
    put(g, "temp", np.arange(7.0), ["obs"], coordinates="time lat")
    put(g, "time", np.arange(7), ["obs"], units="days since 2000-01-01")
    put(g, "lat", [10.0, 20.0, 30.0], ["station"])
    put(g, "row_size", np.array([2, 4, 1], "i4"), ["station"], sample_dimension="obs")
    put(g, "station", [7, 8, 9], ["station"])
    put(g, "id", np.array([b"aa", b"bb", b"cc"]), ["station"], cf_role="timeseries_id")
    put(g, "other", [1, 2, 3], ["station"])
    return g


zarr.consolidate_metadata(contiguous("contiguous").store)
contiguous("plain", featureType="timeSeries")
contiguous("unsaid")
g = zarr.open_group(FOLDER + "/indexed", "w")
put(g, "temp", np.arange(5.0), ["obs"])
put(g, "which", [0, 1, 0, 2, 1], ["obs"], instance_dimension="station")
put(g, "id", [5, 6, 7], ["station"], cf_role="timeseries_id")
put(g, "other", [5, 6, 7], ["obs"])
zarr.consolidate_metadata(g.store)
g = zarr.open_group(FOLDER + "/both", "w")
put(g, "temp", np.arange(5.0), ["obs"])
put(g, "row_size", [2, 1, 2], ["profile"], sample_dimension="obs")
put(g, "profile", [11, 12, 13], ["profile"], cf_role="profile_id")
put(g, "which", [0, 1, 0], ["profile"], instance_dimension="station")
put(g, "id", [5, 6], ["station"], cf_role="timeseries_id")
zarr.consolidate_metadata(g.store)
g = zarr.open_group(FOLDER + "/round", "w")
put(g, "temp", np.arange(3.0), ["a"])
for i in range(30):
    put(g, "n%02d" % i, [1], ["a" if i == 29 else "d%02d" % i], sample_dimension="d%02d" % (i - 1) if i else "a")
zarr.consolidate_metadata(g.store)
END

# variables FILE: their declarations
variables()
{
	ncdump -h "$mnt/$1" | sed -n '/^variables:/,/^$/s/^	[a-z0-9]* \(.*([a-z0-9]*[^)]*)\) ;/\1/p' | sort | paste -sd ' '
}

must_mount "$tmp/stores"
contiguous="id(station, str2) lat(station) row_size(station) station(station) temp(obs) time(obs)"
same "a count variable" "$(variables contiguous/temp.nc)" "$contiguous"
same "one without consolidated metadata" "$(variables plain/temp.nc)" "$contiguous"
same "one that nothing tells of" "$(variables unsaid/temp.nc)" "lat(station) temp(obs) time(obs)"
same "what is no sample" "$(variables contiguous/other.nc)" "other(station) station(station)"
same "the count variable's own file" "$(variables contiguous/row_size.nc)" "row_size(station) station(station)"
same "an index variable" "$(variables indexed/temp.nc)" "id(station) temp(obs) which(obs)"
same "the index variable's own file" "$(variables indexed/which.nc)" "which(obs)"
same "samples of profiles of stations" "$(variables both/temp.nc)" "id(station) profile(profile) row_size(profile) temp(obs) which(profile)"
same "what goes round, in part" "$(variables round/temp.nc)" "n00(d00) n01(d01) n02(d02) n03(d03) temp(a)"
same "its file in a listing" "$(stat -c %s "$mnt/both/temp.nc")" "$(wc -c <"$mnt/both/temp.nc")"
"$python" - "$mnt" <<'END' || fail "xarray divides it otherwise"
import sys
import numpy as np
import xarray

d = xarray.open_dataset(sys.argv[1] + "/contiguous/temp.nc")
ends = np.cumsum(d.row_size.values)
assert [list(part) for part in np.split(d.temp.values, ends[:-1])] == [[0, 1], [2, 3, 4, 5], [6]]
assert list(d.station.values) == [7, 8, 9] and list(d.id.values) == [b"aa", b"bb", b"cc"]
END
exit $((failures != 0))

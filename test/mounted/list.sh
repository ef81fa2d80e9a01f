#!/bin/bash
# What directories list, and what opens all the same: -o list=, roles of variables, names that clash, groups and single arrays.
# shellcheck disable=SC2012 # names here have no newlines
. "$(dirname "$0")/functions.sh"

"$python" - "$tmp/store.zarr" <<'END' || exit 1
import sys
import numpy as np
import zarr
g = zarr.open_group(zarr.DirectoryStore(sys.argv[1]), "w")
def put(path, shape, dims, **attrs):
    a = g.create_dataset(path, shape=shape, dtype="f4", fill_value=1)
    a.attrs.update({"_ARRAY_DIMENSIONS": dims, **attrs})
put("t", (2, 3), ["time", "y"], coordinates="lat", grid_mapping="crs")
put("time", 2, ["time"], bounds="time_bnds")
put("time_bnds", (2, 2), ["time", "nv"])
put("lat", 3, ["y"])
put("crs", (), [])
put("air.nc", 2, ["time"])
put("air", 2, ["time"])
put("u", 2, ["time"])
put("u.cdf5", 2, ["time"])
put("dataset", 2, ["time"])
put("w" * 253, 2, ["time"])
put("g/v", 2, ["time"])
g.create_group("dataset.cdl")
END

# lists OPTIONS FOLDER NAME...
lists()
{
	local options=$1 folder=$2
	shift 2
	must_mount "$tmp/store.zarr" "$options"
	same "the list of '$folder' with '$options'" "$(ls "$mnt/$folder" | grep -v ^www | tr '\n' ' ')" "$* "
	umount_store
}

all="air air.nc crs dataset dataset.cdl g lat t time time_bnds u u.cdf5"
# shellcheck disable=SC2086 # words
lists list=flat "" $all
lists list=nc "" air.nc.nc dataset.cdl g t.nc u.cdf5.nc u.nc
lists list=npy:flat g v v.npy
lists list=csv:cdl g dataset.cdl v.csv
lists list=dataset g dataset.nc
lists list=cdl "" dataset.cdl g

must_mount "$tmp/store.zarr"
# shellcheck disable=SC2086 # words
same "the default" "$(ls "$mnt" | grep -v ^www | tr '\n' ' ')" \
	"$(printf '%s\n' $all air.nc.nc t.nc u.nc u.cdf5.nc | LC_ALL=C sort | tr '\n' ' ')"
eventually 60 grep -q "left out the file 'air.nc': a node has that name" "$log" || fail "the log does not tell that the .nc of 'air' is left out: $(cat "$log")"
eventually 60 grep -q "left out the file 'dataset.nc': a file of the group" "$log" || fail "the log does not tell that the .nc of 'dataset' is left out"
same "air.nc, a variable" "$(wc -c <"$mnt/air.nc")" 8
same "lines of u.cdf5.csv" "$(wc -l <"$mnt/u.cdf5.csv")" 3
same "u.cdf5.nc, of the variable with the longer name" "$(ncdump -h "$mnt/u.cdf5.nc" | grep -c 'float u.cdf5(')" 1
[ -d "$mnt/dataset.cdl" ] || fail "the group 'dataset.cdl' is gone"
for name in time.nc time.csv crs.npy dataset.nc g/dataset.cdl g/dataset.nc g/v.rec.nc g/v.cdf5.nc; do
	[ -s "$mnt/$name" ] || fail "'$name' does not open by its name"
done
for name in nothing.nc g.nc t.nc.csv dataset.csv.nc g/dataset.rec.csv "$(printf 'w%.0s' {1..253}).nc" t.cdf5; do
	[ -e "$mnt/$name" ] && fail "there is a '$name'"
done
umount_store

# the same with consolidated metadata; a new variable that is called like a file of another shows once they have it
"$python" - "$tmp/store.zarr" <<'END' || exit 1
import sys
import zarr
zarr.consolidate_metadata(sys.argv[1])
g = zarr.open_group(sys.argv[1])
for name in ["t.csv", "new", "new.nc"]:
    g.create_dataset(name, shape=3, dtype="f4", fill_value=1)
END
lists list=nc "" air.nc.nc dataset.cdl g t.nc u.cdf5.nc u.nc
must_mount "$tmp/store.zarr"
same "air.nc, a variable of consolidated metadata" "$(wc -c <"$mnt/air.nc")" 8
same "new, which they lack" "$(wc -c <"$mnt/new")" 12
same "lines of t.csv, which they lack beside t" "$(wc -l <"$mnt/t.csv")" 7
umount_store
"$python" -c 'import sys, zarr; zarr.consolidate_metadata(sys.argv[1])' "$tmp/store.zarr" || exit 1
must_mount "$tmp/store.zarr"
same "t.csv, a variable of consolidated metadata" "$(wc -c <"$mnt/t.csv")" 12
same "new.nc, a variable of consolidated metadata" "$(wc -c <"$mnt/new.nc")" 12
umount_store

must_mount "$tmp/store.zarr/t" list=flat:nc:csv:npy:cdl:dataset
same "a single array" "$(ls "$mnt" | tr '\n' ' ')" "dataset.cdl dataset.nc t t.csv t.nc t.npy "
exit $((failures != 0))

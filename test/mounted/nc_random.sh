#!/bin/bash
# A mounted dataset.nc is what a plain file is after the same random edits (seed NC_SEED, NC_STEPS of them): in place, by cp and by mv; in each
# kind of store. What is stored is read once more by a new mount.
. "$(dirname "$0")/functions.sh"
export PYTHONPATH=$here PYTHONDONTWRITEBYTECODE=1
"$python" -c 'import netCDF4' 2>/dev/null || skip "no netCDF4 for $python"

seed=${NC_SEED:-$$}
n=0
for store in a.zarr a.zarr#mode=zarr a.zarr#mode=v3 a.zip; do
	n=$((n + 1))
	dir=$tmp/$n plain=$tmp/$n.nc
	mkdir "$dir"
	"$ZARRFS" --create "$dir/$store" || fail "no store $store"
	"$python" "$here/nc_random.py" make "$plain" "$seed$n" || fail "no file"
	must_mount "$dir/${store%#*}" rw,unlimited=t
	cp "$plain" "$mnt/dataset.nc" || fail "cp"
	"$python" "$here/nc_random.py" run "$plain" "$mnt/dataset.nc" "$seed$n" "${NC_STEPS:-8}" || fail "$store, seed $seed: $(cat "$mnt/.zarrfs/log")"
	umount_store
	must_mount "$dir/${store%#*}" unlimited=t
	"$python" "$here/nc_write.py" same "$mnt/dataset.nc" "$plain" || fail "$store, seed $seed, as it is stored"
	umount_store
done

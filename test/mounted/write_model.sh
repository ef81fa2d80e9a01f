#!/bin/bash
# Flat files that are written against a model: random writes, mappings, truncations, reopenings, by seed (WRITE_SEED, WRITE_STEPS), in a
# directory and in a zip archive; what they left is read by zarr-python, of Zarr V3 by the test itself.
. "$(dirname "$0")/functions.sh"

"$python" -c 'import zarr, numcodecs' 2>/dev/null || skip "no zarr-python"
seed=${WRITE_SEED:-$$}
steps=${WRITE_STEPS:-150}
for store in "$tmp/a.zarr" "$tmp/a.zip" "$tmp/a3.zarr" "$tmp/a3.zip"; do
	verb="make"
	case $store in *a3.*) verb="make3" ;; esac
	"$python" "$here/write_model.py" $verb "$store" || fail "cannot make $store"
	for round in 1 2; do
		if ! mount_store "$store" "rw,metadata_ttl=$((round == 1 ? 60 : 1))"; then
			eventually 60 grep -q "cannot be written" "$log" || fail "cannot mount $store: $(cat "$log")"
			mounts[$mnt]=
			continue
		fi
		"$python" "$here/write_model.py" run "$store" "$mnt" "$seed$round" "$steps" || fail "$store, round $round, seed $seed"
		umount_store
		"$python" "$here/write_model.py" check "$store" || fail "$store, round $round, seed $seed"
	done
done

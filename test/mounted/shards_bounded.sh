#!/bin/bash
# Shards of a million chunks, and 100,000 shards that are looked at, by readers at random and in order, with little memory: every number is right and
# comes in time, and the daemon stays below memory= + 64 MiB.
. "$(dirname "$0")/functions.sh"

sanitized && skip "a sanitizer's memory is its own"
unset MALLOC_PERTURB_ # by which malloc writes into all that is given back, and takes memory of its own
"$python" "$here/shards_bounded.py" make "$tmp/s.zarr" || exit 1
for name in million single many; do
	must_mount "$tmp/s.zarr" memory=64M
	readers=()
	for seed in 1 2 3; do
		"$python" "$here/shards_bounded.py" some "$mnt/$name" $seed 2 &
		readers+=($!)
	done
	for reader in "${readers[@]}"; do
		wait "$reader" || fail "numbers of $name at random"
	done
	"$python" "$here/shards_bounded.py" all "$mnt/$name" || fail "all of $name"
	peak=$(peak_memory)
	echo "$name: peak memory of the daemon $((peak / 1024)) MiB with memory=64M"
	[ "$peak" -le $(((64 + 64) * 1024)) ] || fail "$name: the daemon took $((peak / 1024)) MiB with memory=64M"
	umount_store
done

#!/bin/bash
# Readers of eight large variables, at random and in order: the daemon stays below memory= + 64 MiB, and no read takes longer than
# 10 s on a machine that is not busy otherwise; also where the memory is small beside the chunks and two go through each variable.
. "$(dirname "$0")/functions.sh"

unset MALLOC_PERTURB_ # by which malloc writes into all that is given back, and takes memory of its own
seconds=8 size=full
sanitized && seconds=4 size=small
"$python" "$here/bounded.py" make "$tmp/store.zarr" $size || exit 1
runs=("256 0 1 2 3 4 5 6 7" "64 0 1 2 3 4 5 6 7 0 1 2 3 4 5 6 7")
[ -z "${STORES_FORM:-}" ] || runs=("${runs[1]}")
for run in "${runs[@]}"; do
	read -r memory variables <<<"$run"
	must_mount "$tmp/store.zarr" "memory=${memory}M,timeout=30"
	readers=()
	for n in $variables; do
		"$python" "$here/bounded.py" read "$mnt/v$n" "$n" $seconds &
		readers+=($!)
	done
	for reader in "${readers[@]}"; do
		wait "$reader" || fail "a reader with memory=${memory}M"
	done
	peak=$(peak_memory)
	echo "peak memory of the daemon: $((peak / 1024)) MiB with memory=${memory}M; chunks fetched: $(stat_value chunk_fetches_total)"
	sanitized || [ "$peak" -le $(((memory + 64) * 1024)) ] || fail "the daemon took $((peak / 1024)) MiB with memory=${memory}M"
	[ "$(stat_value chunk_fetches_total)" -gt 0 ] || fail "chunk loads are not counted"
	umount_store
done

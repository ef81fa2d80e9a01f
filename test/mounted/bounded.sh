#!/bin/bash
# Eight readers of eight large variables, at random and in order, with memory=256M: the daemon stays below 256 + 64 MiB, and no read
# takes longer than 10 s.
. "$(dirname "$0")/functions.sh"

seconds=8 size=full
sanitized && seconds=4 size=small
"$python" "$here/bounded.py" make "$tmp/store.zarr" $size || exit 1
must_mount "$tmp/store.zarr" memory=256M
readers=()
for n in 0 1 2 3 4 5 6 7; do
	"$python" "$here/bounded.py" read "$mnt/v$n" $n $seconds &
	readers+=($!)
done
for reader in "${readers[@]}"; do
	wait "$reader" || fail "a reader"
done
peak=$(peak_memory)
echo "peak memory of the daemon: $((peak / 1024)) MiB; chunks fetched: $(stat_value chunk_fetches_total)"
sanitized || [ "$peak" -le $(((256 + 64) * 1024)) ] || fail "the daemon took $((peak / 1024)) MiB with memory=256M"
[ "$(stat_value chunk_fetches_total)" -gt 0 ] || fail "chunk loads are not counted"

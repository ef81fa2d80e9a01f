#!/bin/bash
# Several readers of one file at once, each in its own way: all get the right bytes.
. "$(dirname "$0")/functions.sh"

"$python" "$here/tools.py" make "$tmp/store.zarr" "$tmp/want" || exit 1
for memory in 1G 64M; do
	must_mount "$tmp/store.zarr" memory=$memory
	readers=()
	for n in 1 2; do
		cmp "$mnt/big" "$tmp/want/big" &
		readers+=($!)
		cmp -i $((n * 9000001)) "$mnt/big" "$tmp/want/big" &
		readers+=($!)
		"$python" "$here/tools.py" memmap "$mnt" "$tmp/want" &
		readers+=($!)
		"$python" "$here/tools.py" seek "$mnt" "$tmp/want" &
		readers+=($!)
	done
	for reader in "${readers[@]}"; do
		wait "$reader" || fail "a reader with memory=$memory"
	done
	umount_store
done

#!/bin/bash
# A reader in file order that pauses in the midst of a chunk gets one version of it, or its read fails.
. "$(dirname "$0")/functions.sh"

"$python" "$here/versions.py" make "$tmp/store.zarr" || exit 1
must_mount "$tmp/store.zarr" metadata_ttl=1
waiting=()
for how in raw:same zlib:unnoticed shuffled:noticed blosc:unnoticed lz4:shared; do
	"$python" "$here/paused.py" "$tmp/store.zarr/${how%:*}" "$mnt/${how%:*}" "${how#*:}" &
	waiting+=($!)
done
for reader in "${waiting[@]}"; do
	wait "$reader" || fail "a reader that pauses"
done
exit $((failures != 0))

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
umount_store

# what was read elsewhere hangs when it returns; and one that began twice
"$python" "$here/versions.py" make "$tmp/second.zarr" || exit 1
touch "$tmp/hangs"
must_mount "fault+file://$tmp/second.zarr#fault.kind=hang&fault.match=/1.0.0&fault.calls=get&fault.file=$tmp/hangs" metadata_ttl=1,timeout=12
waiting=()
for how in raw:again shuffled:hung lz4:hung; do
	"$python" "$here/paused.py" "$tmp/second.zarr/${how%:*}" "$mnt/${how%:*}" "${how#*:}" &
	waiting+=($!)
done
for reader in "${waiting[@]}"; do
	wait "$reader" || fail "a reader that pauses while another one hangs, or began twice"
done
exit $((failures != 0))

#!/bin/bash
# A reader in file order that pauses in the midst of a chunk gets one version of it, or its read fails.
. "$(dirname "$0")/functions.sh"

# pause WHAT STORE LAYOUT:HOW...: readers of the mount of that store, all at once
pause()
{
	local what=$1 store=$2 how reader waiting=()
	shift 2
	for how; do
		"$python" "$here/paused.py" "$store/${how%:*}" "$mnt/${how%:*}" "${how#*:}" &
		waiting+=($!)
	done
	for reader in "${waiting[@]}"; do
		wait "$reader" || fail "$what"
	done
}

"$python" "$here/versions.py" make "$tmp/store.zarr" || exit 1
must_mount "$tmp/store.zarr" metadata_ttl=1
pause "a reader that pauses" "$tmp/store.zarr" raw:same zlib:unnoticed shuffled:noticed blosc:unnoticed lz4:shared
umount_store

# what was read elsewhere hangs when it returns; and one that began twice
"$python" "$here/versions.py" make "$tmp/second.zarr" || exit 1
touch "$tmp/hangs"
must_mount "fault+file://$tmp/second.zarr#fault.kind=hang&fault.match=/1.0.0&fault.calls=get&fault.file=$tmp/hangs" metadata_ttl=1,timeout=12
pause "a reader that pauses while another one hangs, or began twice" "$tmp/second.zarr" raw:again shuffled:hung lz4:hung
umount_store

export STORES_FORM=shards
"$python" "$here/versions.py" make "$tmp/shards.zarr" || exit 1
must_mount "$tmp/shards.zarr" metadata_ttl=1
pause "a reader of a shard that pauses" "$tmp/shards.zarr" raw:same zlib:unnoticed blosc:noticed lz4:shared
exit $((failures != 0))

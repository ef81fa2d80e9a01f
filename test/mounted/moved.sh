#!/bin/bash
# A store that is moved away, emptied or loses an array gives errors, never fill values.
. "$(dirname "$0")/functions.sh"

"$python" "$here/moved.py" make "$tmp/store.zarr" || exit 1
declare -A checks=()
for way in moved emptied lost; do
	cp -r "$tmp/store.zarr" "$tmp/$way.zarr"
	must_mount "$tmp/$way.zarr" "metadata_ttl=1"
	"$python" "$here/moved.py" check "$tmp/$way.zarr" "$mnt" $way &
	checks[$way]=$!
done
for way in "${!checks[@]}"; do
	wait "${checks[$way]}" || fail "$way"
done

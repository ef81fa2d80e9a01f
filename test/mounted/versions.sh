#!/bin/bash
# Chunks that take the kernel many requests, replaced by rename every 20 ms while they are read in several ways at once: no read() gives
# some of one version and some of another, a reader in order sees each chunk in one version, and new versions are seen in time.
. "$(dirname "$0")/functions.sh"

seconds=${1:-4}
"$python" "$here/versions.py" make "$tmp/store.zarr" || exit 1
for layout in raw zlib shuffled blosc lz4; do
	for memory in 256M 16M; do
		[ $memory = 256M ] || [ $layout = raw ] || [ $layout = blosc ] || continue
		must_mount "$tmp/store.zarr" "metadata_ttl=1,memory=$memory"
		exec {ready}< <("$python" "$here/versions.py" replace "$tmp/store.zarr/$layout" "$((seconds + 1))")
		writer=$!
		read -r -u $ready _
		"$python" "$here/versions.py" read "$mnt/$layout" "$seconds" || fail "$layout with memory=$memory"
		wait $writer
		exec {ready}<&-
		[ $failures = 0 ] || cat "$log"
		umount_store
	done
done

#!/bin/bash
# Chunks that take the kernel many requests, replaced by rename every 20 ms while they are read in several ways at once: no read() gives
# some of one version and some of another, a reader in order sees each chunk in one version, and new versions are seen in time.
. "$(dirname "$0")/functions.sh"

seconds=${1:-$(sanitized && echo 2 || echo 4)}
for run in v2:raw:256M v2:raw:16M v2:zlib:256M v2:shuffled:256M v2:blosc:256M v2:blosc:16M v2:lz4:256M shards:raw:256M shards:blosc:16M; do
	IFS=: read -r form layout memory <<<"$run"
	export STORES_FORM=$form
	store=$tmp/$form.zarr
	[ -d "$store" ] || "$python" "$here/versions.py" make "$store" || exit 1
	must_mount "$store" "metadata_ttl=1,memory=$memory"
	exec {ready}< <("$python" "$here/versions.py" replace "$store/$layout" "$((seconds + 1))")
	writer=$!
	read -r -u $ready _
	"$python" "$here/versions.py" read "$mnt/$layout" "$seconds" || fail "$layout of $form with memory=$memory"
	wait $writer
	exec {ready}<&-
	[ $failures = 0 ] || cat "$log"
	umount_store
done

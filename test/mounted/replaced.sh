#!/bin/bash
# A chunk file that is replaced by rename while it is read: each read gives the old chunk or the new one, never some of both,
# and what was replaced before the last look at the store is not shown again.
. "$(dirname "$0")/functions.sh"

"$python" "$here/replaced.py" make "$tmp/store.zarr" || exit 1
for layout in raw packed; do
	must_mount "$tmp/store.zarr" "metadata_ttl=1"
	"$python" "$here/replaced.py" write "$tmp/store.zarr/$layout" 6 &
	writer=$!
	"$python" "$here/replaced.py" read "$mnt/$layout" 5 || fail "$layout"
	wait $writer || fail "the writer"
	sleep 1.3
	same "the first byte at the end" "$(head -c 4 "$mnt/$layout" | od -A n -t d4 | tr -d ' ')" "$("$python" "$here/replaced.py" last "$tmp/store.zarr/$layout")"
	umount_store
done
must_mount "$tmp/store.zarr" "metadata_ttl=1"
"$python" "$here/replaced.py" idle "$mnt/raw" "$tmp/store.zarr/raw" || fail "while it is not read"

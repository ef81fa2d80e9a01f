#!/bin/bash
# A chunk's file, or a shard, that is replaced by rename while it is read: each read gives the old one or the new one, never some of both,
# and what was replaced before the last look at the store is not shown again.
. "$(dirname "$0")/functions.sh"

for form in v2 shards; do
	export STORES_FORM=$form
	store=$tmp/$form.zarr
	"$python" "$here/replaced.py" make "$store" || exit 1
	for layout in raw packed; do
		must_mount "$store" "metadata_ttl=1"
		"$python" "$here/replaced.py" write "$store/$layout" 6 &
		writer=$!
		"$python" "$here/replaced.py" read "$mnt/$layout" 5 || fail "$layout, $form"
		wait $writer || fail "the writer"
		sleep 1.3
		same "the first byte at the end" "$(head -c 4 "$mnt/$layout" | od -A n -t d4 | tr -d ' ')" "$("$python" "$here/replaced.py" last "$store/$layout")"
		umount_store
	done
	must_mount "$store" "metadata_ttl=1"
	"$python" "$here/replaced.py" idle "$mnt/raw" "$store/raw" || fail "while it is not read, $form"
	umount_store
done

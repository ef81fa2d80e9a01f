#!/bin/bash
# An array that is rewritten with another shape or type: a file that was open gives EIO or what it knew, never old pages as new
# ones; the next open sees the new array. One that only grew lives on.
. "$(dirname "$0")/functions.sh"

for form in v2 shards; do
	export STORES_FORM=$form
	store=$tmp/$form
	"$python" "$here/rewritten.py" make "$store" || exit 1
	must_mount "$store" "metadata_ttl=1"
	"$python" "$here/rewritten.py" check "$store" "$mnt" || fail "$form: see above"
	umount_store

	for how in plain consolidated; do
		"$python" "$here/rewritten.py" make_again "$store.$how" $how || exit 1
		must_mount "$store.$how"
		"$python" "$here/rewritten.py" check_again "$store.$how" "$mnt" || fail "$form, $how: see above"
		umount_store
	done

	# --cat finds at the open that consolidated metadata are stale
	for name in codec own.nc; do
		"$ZARRFS" --cat "$store.consolidated" "$name" >"$tmp/cat" || fail "--cat of '$name' where consolidated metadata of $form are stale"
		[ "$(wc -c <"$tmp/cat")" -ge 1000 ] || fail "--cat of '$name' gives $(wc -c <"$tmp/cat") bytes"
	done
done

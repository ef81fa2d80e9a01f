#!/bin/bash
# An array that is rewritten with another shape or type: a file that was open gives EIO or what it knew, never old pages as new
# ones; the next open sees the new array. One that only grew lives on.
. "$(dirname "$0")/functions.sh"

"$python" "$here/rewritten.py" make "$tmp/store.zarr" || exit 1
must_mount "$tmp/store.zarr" "metadata_ttl=1"
"$python" "$here/rewritten.py" check "$tmp/store.zarr" "$mnt" || fail "see above"
umount_store

for how in plain consolidated; do
	"$python" "$here/rewritten.py" make_again "$tmp/$how.zarr" $how || exit 1
	must_mount "$tmp/$how.zarr"
	"$python" "$here/rewritten.py" check_again "$tmp/$how.zarr" "$mnt" || fail "$how: see above"
	umount_store
done

# --cat finds at the open that consolidated metadata are stale
for name in codec own.nc; do
	"$ZARRFS" --cat "$tmp/consolidated.zarr" "$name" >"$tmp/cat" || fail "--cat of '$name' where .zmetadata is stale"
	[ "$(wc -c <"$tmp/cat")" -ge 1000 ] || fail "--cat of '$name' gives $(wc -c <"$tmp/cat") bytes"
done

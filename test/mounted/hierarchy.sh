#!/bin/bash
# Groups, names, consolidated metadata, links, attributes and broken nodes, written by hand: what is where, what it holds, and what the log says.
. "$(dirname "$0")/functions.sh"

"$python" "$here/hierarchy.py" make "$tmp/stores" || exit 1
for options in consolidated=prefer consolidated=trust consolidated=ignore; do
	must_mount "$tmp/stores" $options,list=flat
	"$python" "$here/hierarchy.py" check "$mnt" $options || fail "see above ($options)"
	umount_store
done
must_mount "$tmp/stores/links" follow
[ "$(od -An -tx1 "$mnt/outside")" = " 07 00 07 00" ] || fail "-o follow does not follow"
umount_store
must_mount "$tmp/stores/names"
ls "$mnt" >/dev/null
for name in .store .zarrfs; do
	grep -qF "left out '$name'" "$mnt/.zarrfs/log" || fail "the log does not say that '$name' is left out"
done

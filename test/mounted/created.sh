#!/bin/bash
# --create: an empty group of each kind, where nothing is yet and nowhere else.
. "$(dirname "$0")/functions.sh"

"$ZARRFS" --create "$tmp/a.zarr" || fail "cannot create a store"
grep -q nczarr_superblock "$tmp/a.zarr/.zattrs" || fail "no NCZarr"
same "what is there" "$(cd "$tmp/a.zarr" && echo .z* *)" ".zattrs .zgroup *"
"$ZARRFS" --create "file://$tmp/b.zarr#mode=zarr" || fail "cannot create pure Zarr"
same "what is there" "$(cd "$tmp/b.zarr" && echo .z* *)" ".zgroup *"
"$ZARRFS" --create "$tmp/c.zarr#mode=v3" || fail "cannot create Zarr V3"
same "what is there" "$(cd "$tmp/c.zarr" && echo .z* *)" ".z* zarr.json"
mkdir "$tmp/d.zarr"
"$ZARRFS" --create "$tmp/d.zarr" || fail "cannot create a store in an empty directory"
"$ZARRFS" --create "$tmp/z.zip" || fail "cannot create an archive"
for store in a.zarr b.zarr c.zarr d.zarr z.zip; do
	must_mount "$tmp/$store"
	same "names in $store" "$(find "$mnt" -mindepth 1)" ""
	umount_store
done

# refuses COMMAND...: it must fail, say why, and leave nothing behind
refused()
{
	local want=$1
	shift
	"$ZARRFS" "$@" 2>"$tmp/err" && fail "$* was not refused"
	grep -q -- "$want" "$tmp/err" || fail "$*: $(cat "$tmp/err")"
}
refused 'there is a' --create "$tmp/a.zarr"
mkdir "$tmp/full" && touch "$tmp/full/file"
refused 'not empty' --create "$tmp/full"
same "what is there" "$(ls -A "$tmp/full")" file
refused 'there is a store' --create "$tmp/z.zip"
refused 'No such file' --create "$tmp/no/such/dir"
refused 'one argument too many' --create "$tmp/e.zarr" "$tmp"
refused 'run no command' --create "$tmp/e.zarr" -- true
refused '' --create http://127.0.0.1:9/x.zarr
refused '' --create "$tmp/no/z.zip"
[ -e "$tmp/e.zarr" ] || [ -e "$tmp/no" ] && fail "something was made"
:

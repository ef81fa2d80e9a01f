#!/bin/bash
# Groups that are made and removed, and arrays that are removed, as zarr-python then finds them.
. "$(dirname "$0")/functions.sh"

"$python" -c 'import zarr' 2>/dev/null || skip "no zarr-python"
cp -r "$data/sample.zarr" "$tmp/s.zarr"
must_mount "$tmp/s.zarr" rw
cd "$mnt" || exit 1

# groups PATH: what zarr-python finds there
groups()
{
	"$python" -c 'import sys, zarr; g = zarr.open_group(sys.argv[1], "r", path=sys.argv[2]); print(*sorted(k for k, _ in g.groups()))' "$tmp/s.zarr" "$1"
}

mkdir new new/deep || fail "mkdir"
same "the new group" "$(groups /new)" deep
[ -d new/deep ] || fail "not listed"
mkdir new 2>/dev/null && fail "made twice"
mkdir sst/x 2>/dev/null && fail "a group in an array"
rmdir new 2>/dev/null && fail "rmdir of a group with another in it"
rmdir new/deep || fail "rmdir"
same "the rest" "$(groups /new)" ""
setfattr -n user.title -v empty new || fail "an attribute of a new group"
rmdir new || fail "rmdir of the other"
[ ! -e new ] || fail "it is there still"
same "in the store" "$(groups / | tr ' ' '\n' | grep -c new)" 0
rmdir wind 2>/dev/null && fail "rmdir of what has variables"
rm -f sst 2>/dev/null && fail "rm without allow_delete"
rm -f .zarrfs/log 2>/dev/null && fail "rm of the log"
rmdir .store 2>/dev/null && fail "rmdir of .store"
cd / && umount_store

must_mount "$tmp/s.zarr" rw,allow_delete
exec 5>>"$mnt/sst"
rm -f "$mnt/sst" 2>/dev/null && fail "rm of what is being written"
exec 5>&-
gone()
{
	rm -f "$mnt/sst" 2>/dev/null
}
eventually 60 gone || fail "rm"
for name in sst sst.nc; do
	[ ! -e "$mnt/$name" ] || fail "$name is there still"
done
[ ! -e "$tmp/s.zarr/sst" ] || fail "it is in the store still: $(ls "$tmp/s.zarr/sst")"
ls "$mnt" | grep -q '^sst' && fail "it is listed"
"$python" -c 'import sys, zarr; assert "sst" not in zarr.open_consolidated(sys.argv[1])' "$tmp/s.zarr" || fail "consolidated metadata have it"
umount_store

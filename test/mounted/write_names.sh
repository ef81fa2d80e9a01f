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

# rm -r of a group: files that show what the store has go with it, and no name is hidden from what comes in its place
s=$tmp/tree.zarr
make_group()
{
	mkdir -p "$s/$1/v" && echo '{"zarr_format": 2}' >"$s/$1/.zgroup"
	echo '{"zarr_format": 2, "shape": [2], "chunks": [2], "dtype": "|i1", "fill_value": 0, "order": "C", "filters": null, "compressor": null}' >"$s/$1/v/.zarray"
	printf '\1\2' >"$s/$1/v/0"
}
for list in flat:nc flat:nc:nc4:csv:npy:cdl:png:dataset; do
	make_group .
	make_group g
	make_group g/below
	must_mount "$s" "rw,list=$list"
	rm -rf "$mnt/g" 2>/dev/null && fail "rm -r without allow_delete"
	umount_store
	[ -e "$s/g/v/0" ] || fail "rm -r without allow_delete removes chunks"
	must_mount "$s" "rw,allow_delete,list=$list"
	rm -r "$mnt/g" 2>"$tmp/said" || fail "rm -r, $list: $(head -n 3 "$tmp/said")"
	[ ! -e "$s/g" ] || fail "rm -r, $list, leaves $(find "$s/g")"
	make_group g
	cat "$mnt/.zarrfs/refresh" >"$tmp/said"
	[ -e "$mnt/g/v.nc" ] || fail "what has its place is hidden, $list"
	rm "$mnt/v.csv" || fail "rm of a .csv"
	same "the variable of a .csv, $list" "$(od -An -tu1 "$mnt/v" | xargs)" "1 2"
	umount_store
done

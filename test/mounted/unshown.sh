#!/bin/bash
# What cannot be shown has a size all the same: tar opens no empty file, and would say that all went well. cp and tar fail of each, and copy
# the others.
. "$(dirname "$0")/functions.sh"
needs tar

# array NAME SHAPE DTYPE FILTERS [CHUNK]
array()
{
	mkdir -p "$tmp/above/z.zarr/$1"
	echo "{\"zarr_format\": 2, \"shape\": [$2], \"chunks\": [${5:-2}], \"dtype\": \"$3\", \"fill_value\": null, \"order\": \"C\", \"compressor\": null," \
		"\"filters\": $4}" >"$tmp/above/z.zarr/$1/.zarray"
}

array good 2 '<i4' null
array json 2 '|O' '[{"id": "json2"}]'
array pickled 2 '|O' '[{"id": "pickle"}]'
array unknown 2 '<c32' null
array empty 0 '<f16' null
array huge 9223372036854775807 '<f8' null
array texts 1152921504606846976 '|O' '[{"id": "vlen-utf8"}]'
echo '{"_nczarr_maxstrlen": 100}' >"$tmp/above/z.zarr/texts/.zattrs"
array numbers 288230376151711744 '|u1' null 1048576
array nothing 0 '<i4' null
echo '{"zarr_format": 2}' >"$tmp/above/z.zarr/.zgroup"
echo '["a", 1, "|O", [2]]' >"$tmp/above/z.zarr/json/0"
printf 'abcdefgh' >"$tmp/above/z.zarr/good/0"
mkdir -p "$tmp/above/z.zarr/v3" "$tmp/above/folder/v3"
echo '{"zarr_format": 3, "node_type": "array", "shape": [2]}' | tee "$tmp/above/z.zarr/v3/zarr.json" >"$tmp/above/folder/v3/zarr.json"
echo text >"$tmp/above/folder/object"

must_mount "$tmp/above" nc=cdf1
bad="folder/v3 z.zarr/v3 z.zarr/json z.zarr/pickled z.zarr/unknown z.zarr/empty z.zarr/huge z.zarr/texts z.zarr/numbers.csv z.zarr/dataset.nc"
for name in $bad; do
	[ "$(stat -c %s "$mnt/$name")" -gt 0 ] || fail "$name has no size"
	cat "$mnt/$name" >"$tmp/out" 2>&1 && fail "cat $name says nothing"
	cp "$mnt/$name" "$tmp/out" 2>"$tmp/err" && fail "cp $name says nothing"
	tar -C "$mnt" -cf "$tmp/out.tar" folder/object "$name" z.zarr/good 2>"$tmp/err" && fail "tar of $name says nothing"
	grep -q "$name: .*Input/output error\|$name: .*File too large" "$tmp/err" || fail "tar of $name says: $(cat "$tmp/err")"
	same "what tar takes beside $name" "$(tar -xOf "$tmp/out.tar" z.zarr/good 2>/dev/null)" abcdefgh
done
same "what has no elements" "$(stat -c %s "$mnt/z.zarr/nothing")" 0
umount_store

must_mount "$tmp/above" list=flat
rm -rf "$tmp/above/z.zarr/numbers"
tar -C "$mnt" -cf "$tmp/out.tar" . 2>"$tmp/err" && fail "tar says nothing"
tar -C "$tmp" -xf "$tmp/out.tar" ./folder ./z.zarr || fail "the archive is none"
same "what tar took of a folder" "$(cat "$tmp/folder/object")" text
same "what tar took of a group" "$(cat "$tmp/z.zarr/good")" abcdefgh
[ -e "$tmp/z.zarr/json" ] && fail "tar took what cannot be read"
[ -e "$tmp/z.zarr/nothing" ] || fail "tar did not take what has no elements"
exit $((failures != 0))

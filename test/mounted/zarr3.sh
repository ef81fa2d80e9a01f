#!/bin/bash
# A Zarr V3 store: flat files, netCDF, what is refused and why; with inline consolidated metadata, without, and beside V2's; changed while it is
# mounted; over HTTP, counted.
. "$(dirname "$0")/functions.sh"
. "$here/s3_functions.sh"
needs ncdump getfattr setfattr

"$python" "$here/zarr3.py" make "$tmp/store" || exit 1
must_mount "$tmp/store" metadata_ttl=1,nc=cdf5
"$python" "$here/zarr3.py" check "$mnt" || fail "the store differs"
ncdump "$mnt/t2m.nc" >"$tmp/cdl" || fail "ncdump"
grep -q 'float t2m(time, x)' "$tmp/cdl" || fail "dimensions: $(cat "$tmp/cdl")"
grep -q 't2m:_FillValue = NaNf' "$tmp/cdl" || fail "_FillValue: $(cat "$tmp/cdl")"
grep -q '261, 261.5 ;' "$tmp/cdl" || fail "values: $(cat "$tmp/cdl")"
grep -q 'time:units = "days since 2020-01-01"' "$tmp/cdl" || fail "the coordinate: $(cat "$tmp/cdl")"
ncdump -h "$mnt/dataset.nc" | grep -q 'title = "a V3 store"' || fail "dataset.nc"
same "the group" "$(ls "$mnt/group" | grep -c '^sharded$')" 1
same "the format" "$(getfattr --only-values -n user.zarrfs.format "$mnt/t2m" 2>/dev/null)" "Zarr V3"

"$python" "$here/zarr3.py" append "$tmp/store" || exit 1
for _ in $(seq 300); do
	head -c 4 "$mnt/t2m" >/dev/null # opening looks at the array's own metadata
	[ "$(stat -c %s "$mnt/t2m")" = 120 ] && break
	sleep 0.2
done
same "the size of what grew" "$(stat -c %s "$mnt/t2m")" 120
same "the new step" "$(tail -c 24 "$mnt/t2m" | od -An -tf4 | tr -s ' \n' ' ')" " 99 99 99 99 99 99 "
umount_store

# without the copy in the root
"$python" - "$tmp/store/zarr.json" <<'END' || exit 1
import json, sys
with open(sys.argv[1], encoding="utf8") as file:
    document = json.load(file)
del document["consolidated_metadata"]
with open(sys.argv[1], "w", encoding="utf8") as file:
    json.dump(document, file)
END
rm -rf "$tmp/store/t2m/c/4"
"$python" "$here/zarr3.py" make "$tmp/again" && cp "$tmp/again/t2m/zarr.json" "$tmp/store/t2m/" || exit 1
must_mount "$tmp/store"
"$python" "$here/zarr3.py" check "$mnt" || fail "the store without consolidated metadata differs"
umount_store

# both versions in one directory
echo '{"zarr_format": 2}' >"$tmp/store/.zgroup"
must_mount "$tmp/store"
"$python" "$here/zarr3.py" check "$mnt" || fail "beside V2"
umount_store

# V2 below a group of V3, which consolidated metadata do not know
"$python" -c 'import sys, stores, numpy
for path in "old/a", "flat":
    stores.put(sys.argv[1], path, numpy.arange(6, dtype="i4"), {"units": "K"})' "$tmp/mixed" || exit 1
rm -f "$tmp/mixed/.zgroup"
cp -r "$tmp/again/time" "$tmp/mixed/" || exit 1
echo '{"zarr_format": 3, "node_type": "group"}' >"$tmp/mixed/zarr.json"
# mixed WHERE: all that is there
mixed()
{
	local path
	same "names of V2 and V3 $1" "$(cd "$mnt" && find . -mindepth 1 -not -path './.*/*' -not -name '.zarrfs' -type f -not -name '*.*' | sort | tr '\n' ' ')" "./flat ./old/a ./time "
	for path in old/a flat; do
		same "$path $1" "$(od -An -td4 "$mnt/$path" | tr -s ' \n' ' ')" " 0 1 2 3 4 5 "
		same "the format of $path $1" "$(getfattr --only-values -n user.zarrfs.format "$mnt/$path" 2>/dev/null)" "Zarr V2"
	done
	same "time $1" "$(od -An -td8 "$mnt/time" | tr -s ' \n' ' ')" " 0 1 2 3 "
}
must_mount "$tmp/mixed" rw
mixed "in a directory"
setfattr -n user.units -v m "$mnt/old/a" || fail "an attribute of V2"
same "units" "$(getfattr --only-values -n user.units "$mnt/old/a" 2>/dev/null)" m
umount_store
grep -q '"units": "m"' "$tmp/mixed/old/a/.zattrs" || fail "an attribute of V2 is not where V2 has it"
if command -v zip >/dev/null; then
	(cd "$tmp/mixed" && zip -q -r "$tmp/mixed.zip" .) || fail "zip"
	must_mount "$tmp/mixed.zip"
	mixed "in an archive"
	umount_store
fi

# V3 below a group of V2, and groups of each in the other
"$python" -c 'import sys, stores, numpy
for path in "old", "g2/old", "g3/old":
    stores.put(sys.argv[1], path, numpy.arange(4))' "$tmp/below" || exit 1
for path in . g2 g3; do
	cp -r "$tmp/again/time" "$tmp/below/$path/new" || exit 1
done
echo '{"zarr_format": 2}' | tee "$tmp/below/.zgroup" >"$tmp/below/g2/.zgroup"
echo '{"zarr_format": 3, "node_type": "group"}' >"$tmp/below/g3/zarr.json"
# below WHERE: all that is there
below()
{
	local path version
	same "names of V3 and V2 $1" "$(cd "$mnt" && find . -mindepth 1 -not -path './.*/*' -not -name '.zarrfs' -type f -not -name '*.*' | sort | tr '\n' ' ')" "./g2/new ./g2/old ./g3/new ./g3/old ./new ./old "
	for path in {,g2/,g3/}{new,old}; do
		same "$path $1" "$(od -An -td8 "$mnt/$path" | tr -s ' \n' ' ')" " 0 1 2 3 "
		[ "${path##*/}" = new ] && version=3 || version=2
		same "the format of $path $1" "$(getfattr --only-values -n user.zarrfs.format "$mnt/$path" 2>/dev/null)" "Zarr V$version"
	done
}
must_mount "$tmp/below"
below "in a directory"
umount_store
must_mount "file://$tmp/store#mode=zarr,v2"
[ -e "$mnt/t2m" ] && [ ! -d "$mnt/t2m" ] && fail "#mode=v2 shows V3"
umount_store

# over a network: nothing but the root's zarr.json to show all there is
begin_bucket
s3 put "$tmp/again" bucket/v3.zarr
begin_proxy
must_mount s3://bucket/v3.zarr
forget
ls -lR "$mnt" >/dev/null
getfattr -dR "$mnt" >/dev/null
[ "$(requests)" -le 1 ] || fail "ls -lR: $(requests) requests: $(asked)"
"$python" "$here/zarr3.py" check "$mnt" || fail "from S3"
umount_store
forget
must_mount "s3://bucket/v3.zarr#mode=zarr,v3"
ls "$mnt" >/dev/null
[ "$(requests)" = 1 ] || fail "a store that is said to be of V3: $(requests) requests: $(asked)"
umount_store
forget
must_mount "s3://bucket/store.zarr#mode=zarr,v2"
ls "$mnt" >/dev/null
[ "$(requests)" = 1 ] || fail "a store that is said to be of V2: $(requests) requests: $(asked)"
umount_store
s3 put "$tmp/mixed" bucket/mixed
must_mount s3://bucket/mixed
mixed "in a bucket"
umount_store
s3 put "$tmp/below" bucket/below
must_mount s3://bucket/below
below "in a bucket"
umount_store
s3 put "$tmp/below/g2" bucket/known
"$python" -c 'import json, sys
with open(sys.argv[1] + "/old/.zarray", encoding="utf8") as file:
    documents = {".zgroup": {"zarr_format": 2}, "old/.zarray": json.load(file)}
json.dump({"zarr_consolidated_format": 1, "metadata": documents}, sys.stdout)' "$tmp/below/g2" >"$tmp/known"
s3 put "$tmp/known" bucket/known/.zmetadata
must_mount s3://bucket/known
same "V3 that consolidated metadata of V2 lack" "$(od -An -td8 "$mnt/new" | tr -s ' \n' ' ')" " 0 1 2 3 "
umount_store
exit $((failures != 0))

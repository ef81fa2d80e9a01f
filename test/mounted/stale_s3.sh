#!/bin/bash
# As stale.sh, of an object store: netCDF files are read by what is in it, from the second attempt on, when consolidated metadata are stale; and
# of a healthy one no more is asked for than before.
. "$(dirname "$0")/functions.sh"
. "$here/s3_functions.sh"

"$python" "$here/stale.py" make "$tmp/store.zarr" || exit 1
begin_radosgw
s3 make bucket
s3 put "$tmp/store.zarr" bucket/store.zarr
for name in a.nc dataset.nc; do
	"$ZARRFS" --cat s3://bucket/store.zarr $name >"$tmp/cat.nc" || fail "--cat of '$name'"
	"$python" "$here/stale.py" check "$tmp/cat.nc" || fail "--cat of '$name': see above"
done
for name in dataset.nc a.nc b.nc4; do
	must_mount s3://bucket/store.zarr metadata_ttl=600
	"$python" "$here/stale.py" check "$mnt/$name" 2 || fail "$name: see above"
	"$python" "$here/stale.py" check "$mnt/dataset.nc4" || fail "dataset.nc4 after $name: see above"
	umount_store
done

# Of healthy stores one variable of many costs what it did.
"$python" "$here/stale.py" begin "$tmp/healthy.zarr" || exit 1
s3 put "$tmp/healthy.zarr" bucket/healthy.zarr
begin_proxy
must_mount s3://bucket/healthy.zarr metadata_ttl=600
head -c 9 "$mnt/dataset.nc" >"$tmp/head" || fail "the header cannot be read"
same "requests for metadata of arrays, of a header" "$(requests "$(by_form '/\.zarray' 'healthy.zarr/[^/ ]*/zarr\.json')")" 0
umount_store
end_proxy

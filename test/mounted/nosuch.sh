#!/bin/bash
# Names that are not there, counted at a server: the first costs one round trip, and the next ones nothing where the store can be listed; what is
# there, though consolidated metadata lack it, is found.
. "$(dirname "$0")/functions.sh"
. "$here/s3_functions.sh"
needs curl

begin_bucket
cp -r "$tmp/store.zarr/lat" "$tmp/late"
s3 put "$tmp/late" bucket/store.zarr/late
cp -r "$tmp/store.zarr" "$tmp/loose.zarr"
rm "$tmp/loose.zarr/.zmetadata"
s3 put "$tmp/loose.zarr" bucket/loose.zarr
begin_proxy

# missing NAME COUNT: it is not there, for so many requests
missing()
{
	forget
	! test -e "$mnt/$1" || fail "there is $1"
	[ "$(requests)" -le "$2" ] || fail "$1, which is not there: $(requests) requests, not $2: $(asked)"
}

# peak: most requests under way at once since forget
peak()
{
	curl -s "$PROXY/-/counts" | sed 's/.*"peak": *\([0-9]*\).*/\1/'
}

must_mount s3://bucket/store.zarr
missing nosuch 1
missing another 0
missing nosuch.nc 0
for name in lat.nc.aux.xml lat.aux.xml lat.nc.ovr lat.hdr LAT.HDR lat.nc.msk dataset.nc.aux.xml; do
	missing "$name" 0
done
missing deep/nosuch 1
missing deep/another/nosuch 0
cmp "$mnt/late" "$tmp/want/lat" || fail "an array that consolidated metadata lack, though a listing has it"
umount_store
must_mount s3://bucket/store.zarr
forget
cmp "$mnt/late" "$tmp/want/lat" || fail "an array that consolidated metadata lack"
umount_store

must_mount s3://bucket/loose.zarr
missing nosuch 0
missing another 0
forget
cmp "$mnt/lat" "$tmp/want/lat" || fail "an array beside it"
[ "$(requests 'lat/\.z')" -le 2 ] || fail "an array, of which a listing tells: $(asked)"
s3 put "$tmp/late" bucket/loose.zarr/another
cat "$mnt/.zarrfs/refresh" >/dev/null
eventually 8 cmp -s "$mnt/another" "$tmp/want/lat" || fail "an array that was not there before"
umount_store

# a web server lists nothing: a name that is not there costs one round trip, and the side files of a file none
port=$(free_port)
"$python" -m http.server --bind 127.0.0.1 --directory "$tmp/store.zarr" "$port" >/dev/null 2>&1 &
server=$!
trap 'kill $server 2>/dev/null; finish' EXIT
eventually 20 curl -fsS -o /dev/null "http://127.0.0.1:$port/.zmetadata" 2>/dev/null || fail "Python's server does not answer"
end_proxy
begin_proxy "http://127.0.0.1:$port"
cp -r "$tmp/loose.zarr" "$tmp/store.zarr/loose.zarr"
must_mount "$PROXY"
fault "kind=latency&seconds=0.5"
missing nosuch 3
same "requests at once for a name that is not there" "$(peak)" "$(requests)"
missing nosuch 0
calm
for name in lat.nc.aux.xml lat.nc.ovr lat.nc.msk lat.aux lat.AUX lat.aux.xml deep/er/few.msk dataset.nc.aux.xml dataset.nc.aux.xml/x deep/dataset.nc.OVR; do
	missing "$name" 0
done
missing lat.other 3
cp -r "$tmp/late" "$tmp/store.zarr/late"
cmp "$mnt/late" "$tmp/want/lat" || fail "an array that consolidated metadata lack, behind a web server"
umount_store

# the same without consolidated metadata, where what is there takes one round trip, too
must_mount "$PROXY/loose.zarr"
fault "kind=latency&seconds=0.5"
missing nosuch 3
same "requests at once for a name that is not there, without consolidated metadata" "$(peak)" "$(requests)"
missing nosuch 0
forget
test -f "$mnt/lat" || fail "no lat without consolidated metadata"
[ "$(requests)" -le 3 ] || fail "an array without consolidated metadata: $(asked)"
same "requests at once for an array" "$(peak)" "$(requests)"
missing deep/nosuch 7
calm
cmp "$mnt/lat" "$tmp/want/lat" || fail "an array without consolidated metadata"
cmp "$mnt/deep/er/few" "$tmp/want/deep/er/few" || fail "an array below"

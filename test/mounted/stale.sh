#!/bin/bash
# Arrays were rewritten with other codecs and chunks, and consolidated metadata are as before: netCDF files of them, which show several, are
# read by what is in the store.
. "$(dirname "$0")/functions.sh"

checked()
{
	"$python" "$here/stale.py" check "$@" || fail "$*: see above"
}

# copied STORE NAME: by --cat, which mounts nothing
copied()
{
	"$ZARRFS" --cat "$1" "$2" >"$tmp/cat.${2##*.}" || fail "--cat of '$2' in '$1'"
	checked "$tmp/cat.${2##*.}"
}

# read_all STORE ATTEMPTS: all forms of files
read_all()
{
	local name
	for name in a.nc dataset.nc dataset.nc4; do
		copied "$1" $name
	done
	for name in dataset.nc a.nc b.nc4; do
		must_mount "$1" metadata_ttl=600
		checked "$mnt/$name" "$2"
		checked "$mnt/dataset.nc4"
		umount_store
	done
}

"$python" "$here/stale.py" make "$tmp/store.zarr" || exit 1
read_all "$tmp/store.zarr" 1

# What is known of some arrays is younger than the TTL.
"$python" "$here/stale.py" begin "$tmp/known.zarr" || exit 1
must_mount "$tmp/known.zarr" metadata_ttl=600
head -c 9 "$mnt/a" "$mnt/c" >/dev/null || fail "arrays cannot be read"
"$python" "$here/stale.py" rewrite "$tmp/known.zarr" || exit 1
for name in dataset.nc b.nc c.nc4; do
	checked "$mnt/$name"
done
umount_store

# Of a far store no more is asked for than is read, until what is asked for shows that consolidated metadata are stale.
. "$here/nginx_functions.sh"
[ -n "$nginx" ] || finish
port=$(free_port)
nginx_serves <<END_OF_CONF
  log_format short '\$request_method \$uri \$status';
  access_log $tmp/access.log short;
  server { listen 127.0.0.1:$port; root $tmp; }
END_OF_CONF
begin_nginx "http://127.0.0.1:$port/store.zarr/.zgroup"
trap 'kill $web 2>/dev/null; finish' EXIT
read_all "http://127.0.0.1:$port/store.zarr" 2

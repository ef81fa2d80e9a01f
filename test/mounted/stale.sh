#!/bin/bash
# Arrays were rewritten with other codecs and chunks, and consolidated metadata are as before: netCDF files of them, which show several, are
# read by what is in the store.
. "$(dirname "$0")/functions.sh"
needs zip

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

# made STORE FILE NAME: it is what the arrays' own metadata make of it
made()
{
	"$ZARRFS" --cat -o consolidated=ignore "$tmp/store.zarr" "$3" >"$tmp/made" || fail "--cat of '$3' by the arrays' own metadata"
	cmp "$tmp/made" "$2" || fail "'$3' of '$1' is not as it was written last"
}

# read_texts STORE ATTEMPTS: what is not netCDF
read_texts()
{
	local name
	for name in a.csv b.png c.3.png dataset.cdl; do
		"$ZARRFS" --cat "$1" $name >"$tmp/cat" || fail "--cat of '$name' in '$1'"
		made "$1" "$tmp/cat" $name
		must_mount "$1" metadata_ttl=600
		[ "$2" = 1 ] || cat "$mnt/$name" >/dev/null 2>&1
		cat "$mnt/$name" >"$tmp/got" || fail "'$name' of '$1'"
		made "$1" "$tmp/got" $name
		umount_store
	done
}

# read_all STORE ATTEMPTS: all forms of files
read_all()
{
	local name
	read_texts "$@"
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

(cd "$tmp/store.zarr" && zip -q -r -0 "$tmp/store.zip" .) || exit 1
read_all "$tmp/store.zip" 1

# What is known of some arrays is younger than the TTL.
"$python" "$here/stale.py" begin "$tmp/known.zarr" || exit 1
must_mount "$tmp/known.zarr" metadata_ttl=600
head -c 9 "$mnt/a" "$mnt/c" >/dev/null || fail "arrays cannot be read"
"$python" "$here/stale.py" rewrite "$tmp/known.zarr" || exit 1
for name in dataset.nc b.nc c.nc4; do
	checked "$mnt/$name"
done
umount_store

# An archive that is replaced while it is mounted, with consolidated metadata as they were.
"$python" "$here/stale.py" begin "$tmp/archive.zarr" || exit 1
(cd "$tmp/archive.zarr" && zip -q -r -0 "$tmp/archive.zip" .) || exit 1
must_mount "$tmp/archive.zip" metadata_ttl=600
head -c 9 "$mnt/a" "$mnt/c" >/dev/null || fail "arrays cannot be read"
"$python" "$here/stale.py" rewrite "$tmp/archive.zarr" || exit 1
(cd "$tmp/archive.zarr" && zip -q -r -0 "$tmp/new.zip" .) || exit 1
mv "$tmp/new.zip" "$tmp/archive.zip"
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
begin_nginx "http://127.0.0.1:$port/store.zarr/$(by_form .zgroup zarr.json)"
trap 'kill $web 2>/dev/null; finish' EXIT
read_all "http://127.0.0.1:$port/store.zarr" 2

#!/bin/bash
# Another store comes to be at the path that is mounted, with metadata and files as old as it likes: no chunk of it is decoded as one of
# the first.
. "$(dirname "$0")/functions.sh"

# try_way WAY PATH [BASE [OPTIONS]]: mounts the path below a new folder, or below that folder's at a web server, and reads while it is exchanged
try_way()
{
	local folder=$tmp/$form/$1
	"$python" "$here/exchanged.py" make "$folder" || exit 1
	sleep 1.5 # all is older than what is known of it will be
	if [ "$1" = bind ] && ! mount --bind "$folder/v1" "$folder/bound" 2>/dev/null; then
		return # not root, or not allowed here
	fi
	if [ -n "${4-}" ]; then # some chunks were kept by another mount
		must_mount "$3/$2" "$4"
		head -qc 70000 "$mnt"/a?? >/dev/null || fail "$form, $1: the arrays cannot be read"
		umount_store
	fi
	must_mount "${3:-$folder}/$2" "${4-}"
	"$python" "$here/exchanged.py" check "$folder" "$mnt" "${1%.*}" || fail "$form, $1: see above"
	umount_store
	if [ "$1" = bind ]; then
		umount "$folder/bound" "$folder/bound"
	fi
}

for form in v2 shards; do
	export STORES_FORM=$form
	mkdir "$tmp/$form"
	try_way link cur
	try_way above above/cur
	try_way rename v1
	try_way bind bound
	if mount --bind "$tmp/$form/bind/bound" "$tmp/$form/bind/bound" 2>/dev/null; then
		umount "$tmp/$form/bind/bound"
		try_way arrays v1
		umount "$tmp/$form/arrays/v1/a"*
	fi
done

# Behind a web server nothing tells but the metadata, which are looked at once a second while chunks are loaded.
. "$here/nginx_functions.sh"
[ -n "$nginx" ] || finish
port=$(free_port)
base=http://127.0.0.1:$port
nginx_serves <<END_OF_CONF
  log_format short '\$request_method \$uri \$status';
  access_log $tmp/access.log short;
  server { listen 127.0.0.1:$port; root $tmp; }
END_OF_CONF
begin_nginx "$base/v2/link/v1/.zgroup"
trap 'kill $web 2>/dev/null; finish' EXIT
for form in shards v2; do
	export STORES_FORM=$form
	: >"$tmp/access.log"
	try_way web cur "$base/$form/web"
	# one for each shard that was known when it was asked for, and one more for a reader that has some of what is gone
	refused=$(grep -c ' 412$' "$tmp/access.log")
	[ "$refused" -le 120 ] || fail "$form: $refused requests for versions that are gone, of 20 arrays with 4 shards"
	try_way web.cached cur "$base/$form/web.cached" "cache_dir=$tmp/cache.$form"
done

must_mount "$base/v2/web/v2"
: >"$tmp/access.log"
before=$SECONDS
cat "$mnt"/a?? >/dev/null || fail "the arrays behind the web server cannot be read"
took=$((SECONDS - before))
logged()
{
	[ "$(grep -c '/a../[0-9]' "$tmp/access.log")" = "$1" ]
}
eventually 60 logged 320 || fail "$(grep -c '/a../[0-9]' "$tmp/access.log") requests for 320 chunks"
others=$(grep -cv '/a../[0-9]' "$tmp/access.log")
# one when an array is opened, and one for each second that it takes
[ "$others" -le $((20 + 20 * (took + 1))) ] || fail "$others other requests in $took s"
umount_store

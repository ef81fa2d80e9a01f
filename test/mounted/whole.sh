#!/bin/bash
# What tools make of a netCDF file of which a chunk cannot be read: what is in the store, or a failure, never zeros.
. "$(dirname "$0")/functions.sh"

"$python" -c 'import netCDF4' 2>/dev/null || skip "no netCDF4-python"
unset http_proxy https_proxy all_proxy no_proxy HTTP_PROXY HTTPS_PROXY ALL_PROXY NO_PROXY
runs=${WHOLE_RUNS:-24}
"$python" "$here/whole.py" make "$tmp/store.zarr" "$tmp/store.zip" || exit 1

# check_tools KIND STORE [OPTIONS]: on a copy of the store, if it is one that is damaged on the way
check_tools()
{
	must_mount "$2" "${3:-}"
	"$python" "$here/whole.py" check "$1" "$tmp/$1.zarr" "$mnt" "$runs" || fail "$1, options '${3:-}': see above"
	umount_store
}

cp -r "$tmp/store.zarr" "$tmp/dir.zarr"
check_tools dir "$tmp/dir.zarr"
rm -r "$tmp/dir.zarr"
cp -r "$tmp/store.zarr" "$tmp/dir.zarr"
check_tools dir "$tmp/dir.zarr" direct_io=yes
check_tools zip "$tmp/store.zip"
check_tools zip "$tmp/store.zip" direct_io=yes

cp -r "$tmp/store.zarr" "$tmp/http.zarr"
"$python" "$here/whole.py" serve "$tmp/http.zarr" >"$tmp/port" 2>"$tmp/server.log" &
server=$!
eventually 20 test -s "$tmp/port" || fail "the web server does not start: $(cat "$tmp/server.log")"
runs=$((runs / 2))
check_tools http "http://127.0.0.1:$(cat "$tmp/port")/" timeout=2
if [ -n "${WHOLE_RUNS:-}" ]; then # by hand
	cp -r "$tmp/store.zarr" "$tmp/s3.zarr"
	"$python" "$here/whole.py" serve "$tmp/s3.zarr" >"$tmp/port3" 2>"$tmp/server3.log" &
	second=$!
	eventually 20 test -s "$tmp/port3" || fail "no second web server: $(cat "$tmp/server3.log")"
	check_tools s3 "s3://bucket" "timeout=2,profile=anon,endpoint=http://127.0.0.1:$(cat "$tmp/port3")"
	kill $second
fi
kill $server

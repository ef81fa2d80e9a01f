#!/bin/bash
# What tools make of a netCDF file of which a chunk, in an object of its own or in a shard, cannot be read: what is in the store, or a failure, never zeros.
# By hand, WHOLE_ROUNDS=3 test/mounted/whole.sh: all tools that are there, three times 900 runs, and a table of what they did.
. "$(dirname "$0")/functions.sh"

"$python" -c 'import netCDF4' 2>/dev/null || skip "no netCDF4-python"
unset http_proxy https_proxy all_proxy no_proxy HTTP_PROXY HTTPS_PROXY ALL_PROXY NO_PROXY
PATH=/usr/bin:/bin:$PATH # whose Python Debian's tools want
runs=24
[ -z "${WHOLE_ROUNDS:-}" ] || runs=1000
"$python" "$here/whole.py" make "$tmp/v2" "$tmp/store.zip" || exit 1
STORES_FORM=shards "$python" "$here/whole.py" make "$tmp/shards" "$tmp/shards.zip" || exit 1
export STORES_FORM=v2

# check_tools KIND WHAT STORE [OPTIONS]: on what a mount of STORE shows, where WHAT is what is damaged
check_tools()
{
	unset WHOLE_EXACT
	# from Linux 6.6 on files that are read past its pages can be mapped
	case ${4:-},$(printf '6.6\n%s\n' "$(uname -r)" | sort -CV && echo 6.6) in
	*direct_io=no*) ;;
	*direct_io=yes* | *6.6) export WHOLE_EXACT=1 ;;
	esac
	must_mount "$3" "${4:-}"
	"$python" "$here/whole.py" check "$1" "$2" "$mnt" "$runs" "$tmp/counts" || fail "$1, options '${4:-}': see above"
	umount_store
}

# check_copy OPTIONS: on a directory that is damaged on the way
check_copy()
{
	cp -r "$tmp/$STORES_FORM" "$tmp/copy.zarr"
	check_tools dir "$tmp/copy.zarr" "$tmp/copy.zarr" "${1:-}"
	rm -r "$tmp/copy.zarr"
}

# check_served KIND OPTIONS: behind a web server; of s3 it takes the requests of a client of S3
check_served()
{
	local server where
	cp -r "$tmp/$STORES_FORM" "$tmp/copy.zarr"
	"$python" "$here/whole.py" serve "$tmp/copy.zarr" >"$tmp/port" 2>"$tmp/server.log" &
	server=$!
	eventually 60 test -s "$tmp/port" || fail "the web server does not start: $(cat "$tmp/server.log")"
	where=http://127.0.0.1:$(cat "$tmp/port")
	if [ "$1" = s3 ]; then
		check_tools s3 "$tmp/copy.zarr" s3://bucket "timeout=2,profile=anon,endpoint=$where"
	else
		check_tools http "$tmp/copy.zarr" "$where/" timeout=2
	fi
	kill $server
	wait $server 2>/dev/null
	rm -r "$tmp/copy.zarr" "$tmp/port"
}

# one_round SEED
one_round()
{
	export WHOLE_SEED=$1
	check_copy
	check_copy direct_io=no
	STORES_FORM=shards check_copy
	check_tools zip - "$tmp/store.zip"
	check_tools zip - "$tmp/store.zip" direct_io=yes
	[ -n "${WHOLE_ROUNDS:-}" ] || runs=9 # they wait for answers
	check_served http
	check_served s3
	STORES_FORM=shards check_served http
	check_tools hang "$tmp/hangs" "fault+file://$tmp/v2#fault.kind=hang&fault.match=/2.0.0&fault.calls=get,stat&fault.file=$tmp/hangs" timeout=2
}

for ((round = 1; round <= ${WHOLE_ROUNDS:-1}; round++)); do
	one_round $round
done
"$python" "$here/whole.py" sum "$tmp/counts"

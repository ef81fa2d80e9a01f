#!/bin/bash
# The width of texts that no metadata tell: that of the longest one, if it is found soon; listings do not wait for it.
. "$(dirname "$0")/functions.sh"
unset http_proxy https_proxy all_proxy no_proxy HTTP_PROXY HTTPS_PROXY ALL_PROXY NO_PROXY

# serve STORE DELAY: sets $url and $server
serve()
{
	rm -f "$tmp/port"
	"$python" "$here/widths.py" serve "$@" >"$tmp/port" 2>"$tmp/server.log" &
	server=$!
	eventually 60 test -s "$tmp/port" || fail "the web server does not start: $(cat "$tmp/server.log")"
	url=http://127.0.0.1:$(cat "$tmp/port")/
}

"$python" "$here/widths.py" make "$tmp/store.zarr" || exit 1
must_mount "$tmp/store.zarr"
"$python" "$here/widths.py" check "$tmp/store.zarr" "$mnt" || fail "a directory: see above"
eventually 60 grep -q "elements of 'many' are shown in 128 bytes" "$log" || fail "the log does not say why many is as wide: $(cat "$log")"
umount_store

# The store denies what one of them is measured of: the files of its group go without it.
must_mount "fault+file://$tmp/store.zarr#fault.kind=eacces&fault.match=few/7&fault.calls=get"
grep -q "few is left out: .*injected fault" "$mnt/dataset.cdl" || fail "dataset.cdl does not say that few cannot be read"
grep -q "char many(" "$mnt/dataset.cdl" || fail "dataset.cdl lacks many: $(cat "$mnt/dataset.cdl")"
for name in dataset.nc4 dataset.cdf5.nc; do
	head -c 100 "$mnt/$name" >"$tmp/head" || fail "$name cannot be read"
	same "bytes of $name" "$(wc -c <"$tmp/head")" 100
done
eventually 60 grep -q "'few' is in no netCDF file but its own: .*injected fault" "$log" || fail "the log does not say why few is left out: $(cat "$log")"
umount_store

serve "$tmp/store.zarr" 0.2 # one after the other would take too long
must_mount "$url"
"$python" "$here/widths.py" check "$tmp/store.zarr" "$mnt" || fail "a web server: see above"
umount_store
kill $server

# Where it takes too long: what is known then, for good.
serve "$tmp/store.zarr" 3
must_mount "$url" timeout=8
same "the size of few where that takes too long" "$(stat -c %s "$mnt/few")" $((60 * 128))
rm "$tmp/store.zarr/asked.txt"
ls -l "$mnt" >/dev/null || fail "ls -l fails"
[ ! -e "$tmp/store.zarr/asked.txt" ] || fail "the chunks are asked for again: $(wc -l <"$tmp/store.zarr/asked.txt")"
eventually 60 grep -q "elements of 'few' are shown in 128 bytes.*too long" "$log" || fail "the log does not say why few is as wide: $(cat "$log")"
umount_store
kill $server

#!/bin/bash
# kill -9 of the daemon at random moments (CRASHES of them) while four writers store halves of chunks, in a directory, in a zip archive and in a
# bucket: what was stored for certain is there, and no half is torn; what the next mount shows is what is stored.
. "$(dirname "$0")/functions.sh"
. "$here/s3_functions.sh"

"$python" -c 'import zarr, numcodecs' 2>/dev/null || skip "no zarr-python"
[ -n "${CRASHES:-}" ] || CRASHES=$(sanitized && echo 4 || echo 8)

crash()
{
	"$python" "$here/write_crash.py" "$@"
}

# crashes STORE [s3:KEY]: of mounts of it; s3:KEY: where what is stored is found
crashes()
{
	local i ready writer
	for ((i = 1; i <= CRASHES; i++)); do
		must_mount "$1" rw
		exec {ready}< <(crash run "$mnt" "$tmp/left" $((100000 * i)))
		writer=$!
		read -r -t 60 -u "$ready" _ || fail "nothing is written"
		sleep 0.0$((RANDOM % 10))$((RANDOM % 10))
		kill_daemon
		wait $writer || fail "the writers, crash $i"
		exec {ready}<&-
		unmount "$mnt"
		must_mount "$1"
		crash check "${2:-$1}" "$tmp/left" "$mnt" || fail "$1, crash $i"
		umount_store
		[ $failures = 0 ] || exit
	done
	echo "$1: $((i - 1)) times"
	rm -f "$tmp/left.known"
}

for store in "$tmp/s.zarr" "$tmp/z.zarr.zip"; do
	crash make "$store" || exit 1
	[ "$store" != "$tmp/s.zarr" ] || cp -r "$store" "$tmp/fresh.zarr"
	crashes "$store"
done
! sanitized || exit 0
begin_radosgw
s3 make bucket
s3 put "$tmp/fresh.zarr" bucket/c.zarr
crashes s3://bucket/c.zarr s3:c.zarr

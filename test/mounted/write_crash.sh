#!/bin/bash
# kill -9 of the daemon at random moments (CRASHES of them) while four writers store halves of chunks, in a directory and in a zip archive: what was
# stored for certain is there, and no half is torn; what the next mount shows is what is stored.
. "$(dirname "$0")/functions.sh"

"$python" -c 'import zarr, numcodecs' 2>/dev/null || skip "no zarr-python"
[ -n "${CRASHES:-}" ] || CRASHES=$(sanitized && echo 4 || echo 12)

crash()
{
	"$python" "$here/write_crash.py" "$@"
}

for store in "$tmp/s.zarr" "$tmp/z.zarr.zip"; do
	crash make "$store" || exit 1
	for ((i = 1; i <= CRASHES; i++)); do
		must_mount "$store" rw
		exec {ready}< <(crash run "$mnt" "$tmp/left" $((100000 * i)))
		writer=$!
		read -r -t 60 -u $ready _ || fail "nothing is written"
		sleep 0.0$((RANDOM % 10))$((RANDOM % 10))
		kill_daemon
		wait $writer || fail "the writers, crash $i"
		exec {ready}<&-
		unmount "$mnt"
		must_mount "$store"
		crash check "$store" "$tmp/left" "$mnt" || fail "$store, crash $i"
		umount_store
		[ $failures = 0 ] || exit
	done
	echo "$store: $((i - 1)) times"
	rm -f "$tmp/left.known"
done

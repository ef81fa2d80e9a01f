#!/bin/bash
# The Icechunk repositories of the conformance corpus, where there is one, below one mount: each row gives the bytes that are known, by flat files and by libnetcdf,
# or an error where that is right; also where one request in three fails.
. "$(dirname "$0")/functions.sh"

find_references icechunk
must_mount "$tmp/c" "$options"
for what in "" nc; do
	"$python" "$here/references.py" "$corpus/expected-icechunk.tsv" "$mnt" icechunk/ ${what:+"$what"} || fail "rows differ $what"
done
umount_store
for fault in eio absent truncate; do
	must_mount "fault+file://$tmp/c#fault.kind=$fault&fault.every=3&fault.calls=get&fault.file=$tmp/broken" "$options"
	touch "$tmp/broken"
	whats=("" nc)
	sanitized && whats=("")
	for what in "${whats[@]}"; do
		FAULTS=1 "$python" "$here/references.py" "$corpus/expected-icechunk.tsv" "$mnt" icechunk/ ${what:+"$what"} || fail "wrong values where one read in three fails: $fault $what"
	done
	rm "$tmp/broken"
	umount_store
done
exit $((failures != 0))

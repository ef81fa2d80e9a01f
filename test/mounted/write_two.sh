#!/bin/bash
# Two mounts store numbers one by one (ROUNDS of them each), in different chunks of one shard or file and in the same chunks, in a directory and in a
# bucket, by write() and through mappings: none is lost.
. "$(dirname "$0")/functions.sh"
. "$here/s3_functions.sh"

"$python" -c 'import zarr, numcodecs' 2>/dev/null || skip "no zarr-python"
[ -n "${ROUNDS:-}" ] || ROUNDS=$(sanitized && echo 25 || echo 100)

# two STORE [s3:KEY]: by two mounts of it; s3:KEY: where what is stored is found
two()
{
	local first name
	must_mount "$1" rw
	first=$mnt
	must_mount "$1" rw
	for name in a bb a_mapped bb_mapped; do
		"$python" "$here/write_two.py" run "$first/$name" "$mnt/$name" "$ROUNDS" || fail "$1: a number of $name is refused: $(tail -n 3 "$first.log" "$log")"
		echo "$name of $1: $ROUNDS rounds, conflicts: $(stat_value store_conflicts_total "$first") and $(stat_value store_conflicts_total)"
	done
	umount_store "$first"
	umount_store
	for name in a bb a_mapped bb_mapped; do
		"$python" "$here/write_two.py" check "${2:-$1}" "$ROUNDS" $name || fail "${2:-$1}"
	done
}

"$python" "$here/write_two.py" make "$tmp/two.zarr" "$ROUNDS" || exit 1
cp -r "$tmp/two.zarr" "$tmp/fresh.zarr"
two "$tmp/two.zarr"
ROUNDS=${ROUNDS_S3:-$ROUNDS}
begin_radosgw
s3 make bucket
s3 put "$tmp/fresh.zarr" bucket/two.zarr
two s3://bucket/two.zarr s3:two.zarr

#!/bin/bash
# Sixteen readers at different places of one variable on S3, in chunks that each of them needs parts of, with little memory; those that
# go leave more of it to the others. All connections are busy, the daemon stays below memory= + 64 MiB, and all bytes are right.
. "$(dirname "$0")/functions.sh"
. "$here/s3_functions.sh"

unset MALLOC_PERTURB_ # by which malloc writes into all that is given back, and takes memory of its own
readers=16 size=full mib=4
sanitized && size=small mib=1
"$python" "$here/counted.py" make "$tmp" $size cube || exit 1
begin_radosgw
s3 make bucket
s3 put "$tmp/cube.zarr" bucket/cube.zarr
begin_proxy
fault 'kind=latency&seconds=0.02'

# reads PLACE: from this sixteenth of the file on, the later the more
reads()
{
	local skip=$(($1 * $(stat -c %s "$tmp/want") / readers)) bytes=$((($1 + 1) * mib << 20))
	cmp <(tail -c +$((skip + 1)) "$mnt/v" | head -c $bytes) <(tail -c +$((skip + 1)) "$tmp/want" | head -c $bytes)
}

must_mount s3://bucket/cube.zarr memory=64M
for place in $(seq 0 $((readers - 1))); do
	reads "$place" &
	pids[place]=$!
done
for place in "${!pids[@]}"; do
	wait "${pids[place]}" || fail "the reader at $place of $readers"
done
peak=$(peak_memory)
echo "peak memory of the daemon: $((peak / 1024)) MiB; chunks fetched: $(stat_value chunk_fetches_total)"
sanitized || [ "$peak" -le $(((64 + 64) * 1024)) ] || fail "the daemon took $((peak / 1024)) MiB with memory=64M"
umount_store

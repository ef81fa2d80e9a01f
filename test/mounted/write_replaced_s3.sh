#!/bin/bash
# An array of a bucket that another program replaces while a chunk of it is on its way to the store: the writer hears of it, and the chunk does not
# stay in the new array, if that stores chunks otherwise.
. "$(dirname "$0")/functions.sh"
. "$here/s3_functions.sh"

begin_radosgw
s3 make bucket
begin_proxy

# made FOLDER TYPE: a store with an array v, of 4 times 4 elements in two chunks
made()
{
	"$python" - "$1" "$2" <<'EOF' || exit 1
import sys
import as_v3
import zarr3
as_v3.save(sys.argv[1] + "/zarr.json", zarr3.group())
as_v3.save(sys.argv[1] + "/v/zarr.json", zarr3.array((4, 4), (2, 4), sys.argv[2], 7, [zarr3.LITTLE], dims=["time", "x"]))
EOF
}

# shellcheck disable=SC2317 # by eventually
held()
{
	curl -s "$PROXY/-/counts" | grep -q '"faults": 1'
}

made "$tmp/old" uint8
made "$tmp/new" uint32
printf '%8s' '' >"$tmp/chunk"

# chunks wholly and partly written, of a chunk that is there and one that is not
for how in "8 0 new" "3 1 new" "3 3 new" "8 0 old"; do
	read -r bytes seek to <<<"$how"
	s3 put "$tmp/old" bucket/s
	s3 put "$tmp/chunk" bucket/s/v/c/0/0
	must_mount s3://bucket/s rw,unlimited=time
	od "$mnt/v" >/dev/null
	forget
	fault 'kind=latency&seconds=6&match=PUT .*/v/c'
	head -c "$bytes" /dev/zero | dd of="$mnt/v" bs="$bytes" seek="$seek" conv=notrunc,fsync status=none 2>/dev/null &
	eventually 20 held
	s3 rm bucket/s/v/
	s3 put "$tmp/$to" bucket/s
	told=0
	wait $! || told=1
	calm
	if [ "$to" = old ]; then
		same "$how: an array that is the same again, told and left" "$told $("$tools/s3" ls bucket/s/v | grep -c /c/)" "0 1"
	else
		same "$how: another array, told and left" "$told $("$tools/s3" ls bucket/s/v | xargs)" "1 s/v/zarr.json"
	fi
	[ "$to" = old ] || printf '\1\0\0\0' | dd of="$mnt/v" bs=4 conv=notrunc status=none || fail "$how: the new one cannot be written"
	umount_store
	s3 rm bucket/s
done

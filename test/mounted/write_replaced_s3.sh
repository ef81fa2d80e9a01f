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

# held [N]: so many chunks are on their way
# shellcheck disable=SC2317 # by eventually
held()
{
	curl -s "$PROXY/-/counts" | grep -q "\"faults\": ${1:-1}[,}]"
}

# written BYTES SEEK: to the file, in the background
written()
{
	head -c "$1" /dev/zero | dd of="$mnt/v" bs="$1" seek="$2" conv=notrunc,fsync status=none 2>/dev/null &
}

# left: chunks and all keys of the array
left()
{
	"$tools/s3" ls bucket/s/v | xargs
}

# begin [TTL]: a mount whose chunks go no further
begin()
{
	s3 put "$tmp/old" bucket/s
	s3 put "$tmp/chunk" bucket/s/v/c/0/0
	must_mount s3://bucket/s rw,unlimited=time,"metadata_ttl=${1:-60}"
	od "$mnt/v" >/dev/null
	forget
	fault 'kind=hold&match=PUT .*/v/c'
}

# replace FOLDER
replace()
{
	s3 rm bucket/s/v/
	s3 put "$1" bucket/s
}

# shellcheck disable=SC2317 # by eventually
has_asked()
{
	timeout 5 head -c 1 "$mnt/v" >/dev/null 2>&1
	[ "$(requests '(GET|HEAD) .*/v/zarr.json')" -gt 0 ]
}

# hear: until the mount has asked for the new metadata
hear()
{
	forget
	eventually 60 has_asked || fail "nothing asks for the new metadata"
}

# end WHAT: the new array can be written
end()
{
	printf '\1\0\0\0' | dd of="$mnt/v" bs=4 conv=notrunc status=none || fail "$1: the new one cannot be written"
	umount_store
	s3 rm bucket/s
}

made "$tmp/old" uint8
made "$tmp/new" uint32
printf '%8s' '' >"$tmp/chunk"

# chunks wholly and partly written, of a chunk that is there and one that is not; heard: the mount knows of the new array before the chunk is stored
for how in "8 0 new" "3 1 new" "3 3 new" "8 0 new heard" "8 0 old"; do
	read -r bytes seek to heard <<<"$how"
	begin ${heard:+1}
	written "$bytes" "$seek"
	writer=$!
	eventually 60 held || fail "$how: no chunk is on its way"
	replace "$tmp/$to"
	[ -z "$heard" ] || hear
	calm
	told=0
	wait $writer || told=1
	if [ "$to" = old ]; then
		same "$how: an array that is the same again, told and left" "$told $(left | grep -c /c/)" "0 1"
	else
		same "$how: another array, told and left" "$told $(left)" "1 s/v/zarr.json"
	fi
	if [ "$to" = old ]; then umount_store; s3 rm bucket/s; else end "$how"; fi
done

# two files are closed at once: each is told, and no chunk of either stays
begin
written 8 0
first=$!
written 8 1
second=$!
eventually 60 held 2 || fail "two chunks are not on their way"
replace "$tmp/new"
calm
told=0
wait $first || told=$((told + 1))
wait $second || told=$((told + 1))
same "two closes, told and left" "$told $(left)" "2 s/v/zarr.json"
end "two closes"

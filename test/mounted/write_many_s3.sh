#!/bin/bash
# A netCDF file of many variables in a bucket: what was written to them is stored side by side, and so is it looked whether their arrays are still
# the ones. Where one is refused the others are waited for and looked at, too.
. "$(dirname "$0")/functions.sh"
. "$here/s3_functions.sh"

many=24
"$python" - "$tmp/s" $many <<'EOT' || exit 1
import sys
import as_v3
import zarr3
as_v3.save(sys.argv[1] + "/zarr.json", zarr3.group())
for i in range(int(sys.argv[2])):
    as_v3.save("%s/v%02d/zarr.json" % (sys.argv[1], i), zarr3.array((4, 4), (4, 4), "uint8", 7, [zarr3.LITTLE], dims=["y", "x"]))
EOT
mkdir -p "$tmp/other/v01"
sed 's/"uint8"/"uint32"/' "$tmp/s/v01/zarr.json" >"$tmp/other/v01/zarr.json"
begin_radosgw
s3 make bucket
s3 put "$tmp/s" bucket/s
begin_proxy
must_mount s3://bucket/s rw,metadata_ttl=600

# written VALUE: every element of every variable, in the background
written()
{
	local size
	size=$(stat -c %s "$mnt/dataset.nc")
	"$python" -c 'import sys; sys.stdout.buffer.write(bytes([0, int(sys.argv[1])]) * int(sys.argv[2]))' "$1" $((many * 16)) |
		dd of="$mnt/dataset.nc" bs=$((many * 32)) seek=$((size - many * 32)) oflag=seek_bytes iflag=fullblock conv=notrunc status=none 2>/dev/null &
}

# shellcheck disable=SC2317 # by eventually
all_under_way()
{
	[ "$(under_way)" -ge "$1" ]
}

# together WHAT: so many requests are under way at once
together()
{
	eventually 20 all_under_way $many || fail "$1: $(under_way) at once, not $many: $(asked)"
	calm
	wait $! || fail "$1: it cannot be written"
}

# check VALUE VARIABLE...: all elements are
check()
{
	local value=$1 name
	shift
	for name; do
		same "$name" "$(od -An -v -tu1 "$mnt/$name" | xargs -n1 | sort -u | xargs)" "$value"
	done
}

fault 'kind=hold&match=PUT .*/c/'
written 5
together "storing"
sleep 1.2 # what was looked at longer than a second ago is looked at before the put, too
fault "kind=hold&match=GET .*/zarr.json&skip=$many"
written 6
together "looking at the arrays"
check 6 v00 v01 v23

# what is refused of the first variable leaves nothing in the second, which is replaced while its chunk is on its way
# shellcheck disable=SC2317 # by eventually
held()
{
	asked | grep -q '/v00/c/.* 403 ' && all_under_way 1
}
forget
fault 'kind=status&status=403&code=AccessDenied&match=PUT .*/v00/c/'
fault 'kind=hold&match=PUT .*/v01/c/'
written 7
eventually 20 held || fail "the second variable is not on its way: $(asked)"
s3 rm bucket/s/v01/
s3 put "$tmp/other" bucket/s
calm
wait $! && fail "a refused variable is not told"
same "what is left of the replaced array" "$("$tools/s3" ls bucket/s/v01 | xargs)" s/v01/zarr.json
cat "$mnt/.zarrfs/refresh" >"$tmp/said"
check 7 v02 v23

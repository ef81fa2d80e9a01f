#!/bin/bash
# kerchunk references: JSON in all its forms and parquet give the bytes of the netCDF file that they lead into, where the user permits
# it; a source that is not there or too short is an error, never the fill value.
. "$(dirname "$0")/functions.sh"

"$python" "$here/kerchunk.py" make "$tmp" || exit 1
set_dir=$tmp/set

# shows WHAT [DIR]: DIR has the variables, byte for byte
shows()
{
	local name
	for name in temp scalar time wind whole gaps inline b64; do
		cmp "$tmp/want/$name" "${2:-$mnt}/$name" || fail "$1: '$name' differs"
	done
}

# what lies in the folder of the references needs no permission
for refs in v0.json packed packed.json.zst strings.json slash.json; do
	must_mount "$set_dir/$refs" endian=big
	shows "$refs"
	umount_store
done
must_mount "$set_dir/v3.json" endian=big
cmp "$tmp/want/temp" "$mnt/temp" || fail "v3.json: 'temp' differs"
same "group of v3.json" "$(ls "$mnt")" "temp
temp.nc"
umount_store

# elsewhere: as the user permits, and the message says how
for refs in url path up template gen; do
	must_mount "$tmp/other/$refs.json" endian=big
	cat "$mnt/temp" >"$tmp/got" 2>/dev/null && fail "$refs.json is read without permission"
	cmp "$tmp/want/inline" "$mnt/inline" || fail "$refs.json: what it holds itself"
	eventually 60 grep -qF "virtual=file://$set_dir/" "$log" || fail "nothing says what would permit $refs.json: $(cat "$log")"
	umount_store
	must_mount "$tmp/other/$refs.json" "endian=big,virtual=$set_dir"
	shows "$refs.json"
	umount_store
done
must_mount "$tmp/other/url.json" "virtual=file://$tmp/se"
cat "$mnt/temp" >/dev/null 2>&1 && fail "half a name permits the other half"
umount_store
must_mount "$tmp/other/moved.json" "endian=big,virtual=s3://no-such-bucket/a=>$set_dir"
shows "moved.json"
same "the option" "$(grep ^virtual "$mnt/.zarrfs/config")" "virtual=s3://no-such-bucket/a=>$set_dir"
umount_store

# parquet: itself, and in a folder above it, where JSON is a file like others
must_mount "$set_dir/refs.parq" "endian=big,virtual=$set_dir"
shows refs.parq
ncdump=$(command -v ncdump) && { "$ncdump" -h "$mnt/dataset.nc" | grep -q 'float temp(temp_0, temp_1, temp_2)' || fail "dataset.nc of refs.parq"; }
umount_store
must_mount "$set_dir/refs.parq" "endian=big,virtual=$set_dir"
readers=()
for name in temp scalar time wind whole gaps temp time wind gaps; do
	cmp "$tmp/want/$name" "$mnt/$name" &
	readers+=($!)
done
for reader in "${readers[@]}"; do
	wait "$reader" || fail "refs.parq: many at once"
done
umount_store
must_mount "$set_dir" "endian=big,virtual=$set_dir"
shows "refs.parq from above" "$mnt/refs.parq"
cmp "$set_dir/v0.json" "$mnt/v0.json" || fail "a JSON file from above"
umount_store

# never fill
for bad in absent short beyond two chain kind; do
	must_mount "$set_dir/bad_$bad.json" "endian=big"
	cat "$mnt/temp" >"$tmp/got" 2>/dev/null && fail "bad_$bad.json: 'temp' is read"
	cmp "$tmp/want/gaps" "$mnt/gaps" || fail "bad_$bad.json: 'gaps' differs"
	eventually 60 grep -q "temp/1" "$log" || fail "bad_$bad.json: $(cat "$log")"
	umount_store
done

# not even mounted
refused()
{
	log=$tmp/refused.log
	"$ZARRFS" --ls "$1" >/dev/null 2>"$log" && fail "'$1' is mounted"
}
for bad in bomb cut two; do
	refused "$set_dir/$bad.json"
	eventually 60 grep -q "$bad.json" "$log" || fail "$bad.json: $(cat "$log")"
done
refused "$set_dir/blanks.json.gz"

# other references, in the same file
cp "$set_dir/v0.json" "$tmp/v0.json"
mv "$tmp/v0.json" "$set_dir/now.json"
must_mount "$set_dir/now.json" endian=big
shows "now.json"
sed 's/"temp\/1.0.0": \["src.nc", [0-9]*, 80\]/"temp\/1.0.0": "base64:'"$(head -c 80 /dev/zero | base64 -w 0)"'"/' "$set_dir/v0.json" >"$tmp/new.json"
mv "$tmp/new.json" "$set_dir/now.json"
sleep 0.1
cat "$mnt/.zarrfs/refresh" >/dev/null || fail "refresh"
{
	head -c 80 "$tmp/want/temp"
	head -c 80 /dev/zero
	tail -c 80 "$tmp/want/temp"
} | cmp - "$mnt/temp" || fail "after a change 'temp' differs"
rm "$set_dir/now.json"
sleep 0.1
cat "$mnt/.zarrfs/refresh" >/dev/null 2>&1
cat "$mnt/temp" >/dev/null 2>&1 && fail "references that are gone are still read"
umount_store
exit $((failures != 0))

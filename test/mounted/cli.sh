#!/bin/bash
# --ls and --cat: the names and bytes of a mount, without one.
. "$(dirname "$0")/functions.sh"

store=$data/sample.zarr

# refused PATTERN ARGUMENT...
refused()
{
	local pattern=$1 status=0 said
	shift
	said=$("$ZARRFS" "$@" 2>&1 >/dev/null) || status=$?
	same "status of '$*'" $status 1
	[[ $said =~ $pattern ]] || fail "'$*' says '$said', not '$pattern'"
}

while read -r sum name; do
	same "bytes of $name" "$("$ZARRFS" -o endian=little --cat "$store" "$name" | sha256sum | cut -c1-64)" "$sum"
	folder=$(dirname "$name")
	"$ZARRFS" --ls "$store" "$folder" | grep -qxF "$(basename "$name")" || fail "--ls $folder does not show $name"
	same "--ls of a file" "$("$ZARRFS" --ls "$store" "$name")" "$name"
done <"$data/sample.sha256"
same "a path with slashes" "$("$ZARRFS" --cat "$store" /sst | sha256sum)" "$("$ZARRFS" --cat "$store" sst | sha256sum)"
same "the first bytes" "$("$ZARRFS" --cat "$store" sst 2>&1 | head -c 10 | wc -c)" 10
# the beginning of a file of 4 MiB in 512 chunks costs few of them
mkdir -p "$tmp/long.zarr/a"
printf '{"zarr_format": 2}' >"$tmp/long.zarr/.zgroup"
printf '{"zarr_format": 2, "shape": [524288], "chunks": [1024], "dtype": "<f8", "order": "C", "compressor": null, "filters": null, "fill_value": 0}' \
	>"$tmp/long.zarr/a/.zarray"
head -c 8192 /dev/zero >"$tmp/long.zarr/a/0"
for ((i = 1; i < 512; i++)); do ln "$tmp/long.zarr/a/0" "$tmp/long.zarr/a/$i"; done
"$ZARRFS" --cat "trace+file://$tmp/long.zarr" a 2>"$tmp/said" | head -c 1 >/dev/null
[ "$(grep -c 'a/[0-9]' "$tmp/said")" -le 64 ] || fail "--cat | head -c 1 reads $(grep -c 'a/[0-9]' "$tmp/said") of 512 chunks"
same "--cat of all of it" "$("$ZARRFS" --cat "$tmp/long.zarr" a | wc -c)" 4194304
refused "no 'nothing'" --ls "$store" nothing
refused "no 'nothing'" --cat "$store" nothing
refused "is a directory" --cat "$store" ""
refused "nothing.zarr" --ls "$tmp/nothing.zarr"
# what is no store is told what one is
for name in x.nc readme.txt; do
	echo text >"$tmp/$name"
	refused "a store is a directory or a zip archive: .*$name" --ls "$tmp/$name"
done
refused "'.*/lat/.zarray' is a part of a store: name the directory" --ls "$store/lat/.zarray"
refused "'.*/.zgroup' is a part of a store: name the directory" --ls "$store/.zgroup"
refused "a URL begins with 's3://'" --ls s3:/bucket
refused "a URL begins with 'https://'" --ls https:example.org/x.zarr
mkdir -p "$tmp/empty" "$tmp/wrong" "$tmp/above/v3.zarr/a"
same "of an empty directory" "$("$ZARRFS" --ls "$tmp/empty" 2>&1)" "zarrfs: warning: there is no Zarr store in '$tmp/empty': it is empty"
echo text >"$tmp/wrong/readme.txt"
same "of one without a store" "$("$ZARRFS" --ls "$tmp/wrong" 2>&1 >/dev/null)" \
	"zarrfs: warning: there is no Zarr store in '$tmp/wrong': no Zarr metadata, and no directory"
same "of one that may be above stores" "$("$ZARRFS" --ls "$tmp/above" 2>&1)" v3.zarr
printf '{"zarr_format": 4, "node_type": "group"}' >"$tmp/above/v3.zarr/zarr.json"
refused "cannot open store.*'zarr_format' is not 3" --ls "$tmp/above/v3.zarr"
refused "cannot list 'v3.zarr': 'zarr_format' is not 3" --ls "$tmp/above" v3.zarr
if [ -w /dev/full ]; then
	"$ZARRFS" --cat "$store" sst >/dev/full 2>"$tmp/said" && fail "a full disk goes unseen"
	grep -q "No space left" "$tmp/said" || fail "it says '$(cat "$tmp/said")'"
	"$ZARRFS" --ls "$store" >/dev/full 2>/dev/null && fail "a full disk goes unseen by --ls"
fi

must_mount "$store"
for folder in "" $(cd "$mnt" && find . -mindepth 1 -type d -printf '%P '); do
	same "names in '$folder'" "$("$ZARRFS" --ls "$store" "$folder")" "$(LC_ALL=C ls "$mnt/$folder")"
done
"$ZARRFS" -o strlen=9 --cat "$store" .zarrfs/config | grep -qx strlen=9 || fail "no options without a mount"
[ -n "$("$ZARRFS" --cat "$store" .zarrfs/stats)" ] || fail "no stats without a mount"

# installed setuid it reads with the rights of its caller
if [ "$(id -u)" = 0 ] && command -v setpriv >/dev/null; then
	cp "$ZARRFS" "$tmp/setuid"
	chmod 6755 "$tmp/setuid"
	chmod 755 "$tmp"
	cp -r "$data/sample.zarr" "$tmp/private.zarr"
	chmod 700 "$tmp/private.zarr"
	cp -r "$data/sample.zarr" "$tmp/public.zarr"
	for store in private public; do
		setpriv --reuid=65534 --regid=65534 --clear-groups "$tmp/setuid" --cat "$tmp/$store.zarr" lat >"$tmp/$store" 2>"$tmp/said"
		echo "$?" >>"$tmp/$store.status"
	done
	same "status of a store that the caller may not read" "$(cat "$tmp/private.status") $(wc -c <"$tmp/private")" "1 0"
	same "of one that it may read" "$(cat "$tmp/public.status") $(sha256sum <"$tmp/public" | cut -c1-64)" "0 $(sed -n 's/  lat$//p' "$data/sample.sha256")"
fi
exit $((failures != 0))

#!/bin/bash
# A server that is away for a minute, by S3 (it accepts connections and says nothing) and by HTTP (there is none): what was not read
# before is an error in time and never fill; when it comes back all is right without a remount.
. "$(dirname "$0")/functions.sh"
. "$here/s3_functions.sh"

away=60 timeout=5
[ -n "${STORES_FORM:-}" ] && away=8
sanitized && away=8
begin_bucket
s3 make open public
S3_PUBLIC=1 s3 put "$tmp/store.zarr" open/store.zarr

begin_web()
{
	said=$("$tools/proxy" --owner $$ start "$tmp/web" "$S3_ENDPOINT" "$@" 2>&1) || { fail "$said"; exit 1; }
	web=$(sed -n 's/^PROXY=//p' "$tmp/web/env")
}

begin_proxy
begin_web
must_mount s3://bucket/store.zarr timeout=$timeout,metadata_ttl=3
deaf=$mnt
must_mount "$web/open/store.zarr#mode=zarr" timeout=$timeout,metadata_ttl=3
gone=$mnt
for mnt in "$deaf" "$gone"; do
	cmp "$mnt/lat" "$tmp/want/lat" || fail "lat"
	ls -lR "$mnt" >/dev/null
done

files=(sparse plain packed checked deep/er/few)
# without MNT: reads until the server is back
without()
{
	local n=0 file before most=$((2 * timeout + 4)) got=$tmp/got.${1##*/}
	sanitized && most=$((2 * most))
	while [ $SECONDS -lt $end ]; do
		file=${files[n++ % 5]}
		before=$SECONDS
		cat "$1/$file" >"$got" 2>"$got.said" && echo "$file of $1 can be read"
		[ -s "$got" ] && echo "$file of $1 gives $(wc -c <"$got") bytes"
		grep -qE 'Input/output error|Stale|timed out' "$got.said" || echo "$file of $1: '$(cat "$got.said")'"
		[ $((SECONDS - before)) -le $most ] || echo "$file of $1 takes $((SECONDS - before)) s"
		sleep 0.3
	done
	echo "$n reads" >&2
}

fault kind=stall
"$tools/proxy" stop "$tmp/web"
end=$((SECONDS + away))
without "$deaf" >"$tmp/wrong.deaf" &
readers=($!)
without "$gone" >"$tmp/wrong.gone" &
readers+=($!)
wait "${readers[@]}"
[ -s "$tmp/wrong.deaf" ] || [ -s "$tmp/wrong.gone" ] && fail "without a server: $(cat "$tmp"/wrong.*)"

calm
begin_web "${web##*:}"
for mnt in "$deaf" "$gone"; do
	for file in "${files[@]}"; do # what did not come is refused for a moment
		eventually 15 cmp -s "$mnt/$file" "$tmp/want/$file" || fail "the server is back, $file is not: $(tail -3 "$mnt/.zarrfs/log")"
	done
	same_files "$mnt" "$tmp/want" "after it came back"
done

#!/bin/bash
# The Icechunk repositories and the references of the conformance corpus, where there is one, on S3 and behind a web server: each row gives the bytes that are known, or an
# error where that is right.
. "$(dirname "$0")/functions.sh"
. "$here/s3_functions.sh"
. "$here/nginx_functions.sh"
[ -n "$nginx" ] || skip "no nginx"

find_references icechunk
tar -C "$tmp/c" -xJf "$corpus/icechunk-kerchunk.tar.xz" kerchunk || exit 1

# rows WHERE URL STORE...: all versions of them, each below a mount of its own, several at a time
rows()
{
	local where=$1 url=$2 status=0 store only at those
	shift 2
	while [ $# -gt 0 ]; do
		only=""
		those=()
		for store in "${@:1:12}"; do
			mkdir -p "$tmp/$where/${store%/*}"
			: >"$tmp/$where/$store" # refused: every row of it is an error
			if mount_store "$url/$store" "$options"; then
				those+=("$mnt")
				ln -sfn "$mnt${variables[$store]-}" "$tmp/$where/$store"
			else
				mounts["$mnt"]=
				cat "$log" >>"$tmp/refused"
			fi
			only+=${only:+|}${store//./\\.}
		done
		"$python" "$here/references.py" "$corpus/expected-icechunk.tsv" "$tmp/$where" "($only)(#|\$)" >"$tmp/said" || status=$?
		cat "$tmp/said"
		for at in "${those[@]}"; do
			umount_store "$at"
		done
		shift $(($# < 12 ? $# : 12))
	done
	[ $status = 0 ] || fail "rows differ: $where"
}

stores=()
declare -A variables=() # of a store that is an array: /NAME
while IFS=$'\t' read -r store array; do
	[ -e "$tmp/c/$store" ] || continue # too large for the archive
	stores+=("$store")
	[ -n "$array" ] || variables[$store]=/${store##*/}
done < <(cut -f1,2 "$corpus/expected-icechunk.tsv" | sed '/^#/d; s/#[^\t]*//' | sort -u -t $'\t' -k1,1)
begin_radosgw
export S3_PUBLIC=1
s3 make corpus public
s3 put "$tmp/c/icechunk" corpus/icechunk
s3 put "$tmp/c/kerchunk" corpus/kerchunk
rows s3 s3://corpus "${stores[@]}"
! sanitized || exit $((failures != 0)) # once is enough of a slow daemon

port=$(free_port)
nginx_serves <<END
  access_log off;
  server { listen 127.0.0.1:$port; root $tmp/c; }
END
: >"$tmp/c/there"
begin_nginx "http://127.0.0.1:$port/there"
trap 'kill $web 2>/dev/null; finish' EXIT
rows web "http://127.0.0.1:$port" "${stores[@]}"
exit $((failures != 0))

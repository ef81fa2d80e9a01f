#!/bin/bash
# The references of the conformance corpus, where there is one: each row gives the bytes that are known, or an error where that is right.
. "$(dirname "$0")/functions.sh"

find_references kerchunk

rows=0
mounted=
while IFS=$'\t' read -r store array _ _ want _; do
	[[ $store = kerchunk/* ]] || continue
	if [ "$store" != "$mounted" ]; then
		[ -z "$mounted" ] || umount_store
		mounted=
		if [[ $want = MUST_FAIL* ]] && ! "$ZARRFS" -o "$options" --ls "$tmp/c/$store" >/dev/null 2>"$tmp/why"; then
			rows=$((rows + 1)) # all of it is refused
			continue
		fi
		must_mount "$tmp/c/$store" "$options"
		mounted=$store
	fi
	rows=$((rows + 1))
	sum=error
	cat "$mnt/$array" >"$tmp/got" 2>/dev/null && sum=$(sha256sum <"$tmp/got" | cut -d' ' -f1)
	case $want in
	MUST_FAIL*) same "$store $array" "$sum" error ;;
	OPTIONAL:*) [ "$sum" = error ] || same "$store $array" "$sum" "${want#OPTIONAL:}" ;;
	*) same "$store $array" "$sum" "$want" ;;
	esac
done < <(sort -s -t $'\t' -k1,1 "$corpus/expected-icechunk.tsv")
[ -z "$mounted" ] || umount_store
[ $rows -gt 100 ] || fail "only $rows rows"
exit $((failures != 0))

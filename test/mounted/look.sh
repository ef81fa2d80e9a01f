#!/bin/bash
# od, head, tail, cmp, find, ls, wc, grep: looking at a part shows that part.
. "$(dirname "$0")/functions.sh"

"$python" "$here/tools.py" make "$tmp/store.zarr" "$tmp/want" || exit 1
must_mount "$tmp/store.zarr" list=flat

for file in t2m big ocean/salt ocean/deep/mask scalar; do
	for command in "od -A d -t f4 -j 60 -N 4000" "head -c 100001" "tail -c 100001" "tail -c +333" "wc -c" "sha256sum"; do
		same "$command <$file" "$($command <"$mnt/$file" 2>/dev/null | sha256sum)" "$($command <"$tmp/want/$file" 2>/dev/null | sha256sum)"
	done
	cmp "$mnt/$file" "$tmp/want/$file" || fail "cmp of $file"
done
same "find -size" "$(cd "$mnt" && find . -type f -printf '%P %s\n' | sort)" "$(cd "$tmp/want" && find . -type f -printf '%P %s\n' | sort)"
same "a scalar" "$(od -A n -t f8 "$mnt/scalar")" "$(od -A n -t f8 "$tmp/want/scalar")"
same "an empty file" "$(wc -c <"$mnt/empty")" 0
grep -q x "$mnt/big"
[ $? -le 1 ] || fail "grep cannot read"
ls -lR "$mnt" >/dev/null || fail "ls -lR"
[ "$(df --output=size "$mnt" | tail -1)" -gt 0 ] || fail "df shows a size of 0"
for change in "touch $mnt/new" "mkdir $mnt/new" "rm $mnt/t2m" "mv $mnt/t2m $mnt/t3m" "truncate -s 0 $mnt/t2m"; do
	if $change 2>/dev/null; then fail "a read-only mount lets '$change' through"; fi
done
true

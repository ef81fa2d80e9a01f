#!/bin/bash
# All at once, for a short while (or as long as said: stress.sh SECONDS): chunks that are replaced, readers of all kinds, some of them killed, one
# of another user, looks at the store from outside and by signal, listings; and an end in the midst of it.
. "$(dirname "$0")/functions.sh"
needs setpriv

seconds=${1:-6}
export VERSIONS_GONE=1 VERSIONS_LATE=$((seconds + 60)) # how soon is not the question here
"$python" "$here/versions.py" make "$tmp/store.zarr" || exit 1
options="metadata_ttl=1,memory=32M"
[ "$(id -u)" != 0 ] || options="$options,allow_other"
must_mount "$tmp/store.zarr" "$options"
chmod 755 "$tmp"

# as long as the daemon lives
writers=()
for layout in raw blosc; do
	exec {ready}< <("$python" "$here/versions.py" replace "$tmp/store.zarr/$layout" "$((seconds + 2))")
	writers+=($!)
	read -r -u $ready _
	exec {ready}<&-
done
readers=()
for layout in raw blosc; do
	"$python" "$here/versions.py" read "$mnt/$layout" "$seconds" whole parts passes mapped &
	readers+=($!)
done

end=$((SECONDS + seconds))
while [ $SECONDS -lt $end ]; do
	dd if="$mnt/zlib" of=/dev/null bs=7777 2>/dev/null &
	victim=$!
	cat "$mnt/.zarrfs/refresh" >/dev/null || fail "refresh"
	kill -HUP "$daemon"
	[ "$(id -u)" != 0 ] || setpriv --reuid=65534 --regid=65534 --clear-groups cat "$mnt/lz4" >"$tmp/lz4" || fail "reading as another user"
	ls -lR "$mnt" >/dev/null || fail "listing"
	kill -9 $victim 2>/dev/null
	wait $victim 2>/dev/null
	cat "$mnt/.zarrfs/stats" >/dev/null || fail "stats"
done
for reader in "${readers[@]}"; do
	wait "$reader" || fail "a reader"
done

for _ in 1 2 3 4; do
	(while cat "$mnt/raw" "$mnt/blosc" "$mnt/shuffled"; do :; done) >/dev/null 2>&1 &
done
sleep 0.5
umount_store
wait "${writers[@]}" 2>/dev/null
if grep -a 'Sanitizer\|runtime error' "$log"; then
	fail "the daemon says so"
fi

#!/bin/bash
# netCDF files that are larger than memory= become arrays as they come: each chunk is stored once, nothing lies in $TMPDIR, memory is bounded, and the
# values are those of the file. What breaks off leaves no array.
. "$(dirname "$0")/functions.sh"
py() { "$python" "$here/write_large.py" "$@"; }
"$python" -c 'import zarr, netCDF4' 2>/dev/null || skip "no zarr or netCDF4 for $python"
unset MALLOC_PERTURB_ # as in bounded.sh

memory=64
if sanitized; then # which shows the same with less
	export LARGE_ROWS=80
	memory=24
fi

py fixed "$tmp/fixed.nc" || exit 1
py records "$tmp/records.nc" || exit 1
head -c $((${LARGE_ROWS:-200} * 3 / 4 << 20)) "$tmp/fixed.nc" >"$tmp/short.nc"
nowhere=$tmp/nowhere # nothing can be put there

# mount_new STORE [OPTIONS]: a new store, with little memory
mount_new()
{
	"$ZARRFS" --create "$1" || fail "cannot make a store"
	must_mount "$1" "rw,memory=${memory}M${2:+,$2}"
}

# took WHAT: little memory, and each chunk was stored once
took()
{
	same "chunks stored a second time, $1" "$(stat_value store_merges_total)" 0
	peak=$(peak_memory)
	echo "$1: peak memory of the daemon: $((peak / 1024)) MiB; chunks stored: $(stat_value stores_total)"
	sanitized || [ "$peak" -le $((128 * 1024)) ] || fail "the daemon took $((peak / 1024)) MiB, $1"
}

# copied STORE FILE [OPTIONS]: and what another mount shows is the same
copied()
{
	TMPDIR=$nowhere mount_new "$1" "${3:-}"
	cp "$2" "$mnt/dataset.nc" || fail "cannot copy to $1"
	took "$1"
	umount_store
	must_mount "$1"
	py same "$2" "$mnt/dataset.nc" || fail "what is in $1"
	umount_store
}
for file in fixed records; do
	copied "$tmp/$file.zarr" "$tmp/$file.nc"
	py check "$tmp/$file.zarr" "$tmp/$file.nc" || fail "values of $file"
done
copied "$tmp/shards.zarr#mode=v3" "$tmp/fixed.nc" chunk=1M,shard=4M
copied "$tmp/archive.zip" "$tmp/records.nc"

# besides what a group has
"$python" -c 'import netCDF4, sys
with netCDF4.Dataset(sys.argv[1], "w", format="NETCDF3_CLASSIC") as file:
    file.createDimension("z", 5)
    file.createVariable("z", "f4", ("z",))[:] = range(5)' "$tmp/small.nc"
TMPDIR=$nowhere mount_new "$tmp/more.zarr"
cp "$tmp/small.nc" "$mnt/z.nc" || fail "cannot copy a small file"
cp "$tmp/records.nc" "$mnt/dataset.nc" || fail "cannot copy to a group that has variables"
took "a group that has variables"
umount_store
must_mount "$tmp/more.zarr"
py same "$tmp/records.nc" "$mnt/dataset.nc" || fail "what is beside others"
py same "$tmp/small.nc" "$mnt/dataset.nc" || fail "what was there"
umount_store

# in another order; where the header changes what came lies in $TMPDIR
for how in disorder header sparse; do
	mount_new "$tmp/$how.zarr"
	py $how "$tmp/fixed.nc" "$mnt/dataset.nc" || fail "cannot write in the order '$how'"
	umount_store
	py $how "$tmp/fixed.nc" "$tmp/$how.nc"
	py check "$tmp/$how.zarr" "$tmp/$how.nc" || fail "values in the order '$how'"
done
grep -rq LARGE "$tmp/header.zarr/.zattrs" || fail "the header that came last does not count"

# chunks STORE: how many files are no metadata
chunks()
{
	find "$1" -type f ! -name '.z*' ! -name zarr.json | wc -l
}

# nothing WHAT: neither arrays nor chunks
nothing()
{
	eventually 60 test ! -e "$tmp/broken.zarr/v0"
	same "chunks, $1" "$(chunks "$tmp/broken.zarr")" 0
	same "arrays, $1" "$(find "$tmp/broken.zarr" -name .zarray | wc -l)" 0
}

# what breaks off leaves nothing, and the same name can be written again
mount_new "$tmp/broken.zarr"
cp "$tmp/short.nc" "$mnt/dataset.nc" 2>"$tmp/said" && fail "half a file was copied"
grep -q 'Invalid argument' "$tmp/said" || fail "half a file: $(cat "$tmp/said")"
nothing "half a file"
eventually 60 grep -q "not written to its end.*'v0'" "$log" || fail "what became of half a file is not said: $(cat "$log")"
{ cat "$tmp/short.nc" 2>/dev/null; exec sleep 100; } >"$mnt/dataset.nc" &
writer=$!
eventually 60 test -e "$tmp/broken.zarr/v0/0.0.0" || fail "nothing is stored as it comes"
[ -e "$tmp/broken.zarr/v0/.zarray" ] && fail "metadata promise what is not there"
kill $writer
wait $writer
nothing "a writer that was killed"
cp "$tmp/short.nc" "$mnt/half.txt.nc" && fail "half a file under another name"
rm "$mnt/half.txt.nc"
cp "$tmp/fixed.nc" "$mnt/dataset.nc" || fail "the same name again"
umount_store
py check "$tmp/broken.zarr" "$tmp/fixed.nc" || fail "values after what broke off"

# a full disk
mkdir "$tmp/disk"
if mount -t tmpfs -o size="$((${LARGE_ROWS:-200} / 4))m" none "$tmp/disk" 2>"$tmp/said"; then
	mount_new "$tmp/disk/full.zarr" codec=none
	cp "$tmp/fixed.nc" "$mnt/dataset.nc" 2>"$tmp/said" && fail "a full disk took all"
	grep -q 'No space left' "$tmp/said" || fail "a full disk: $(cat "$tmp/said")"
	eventually 60 test ! -e "$tmp/disk/full.zarr/v0"
	same "chunks on a full disk" "$(chunks "$tmp/disk/full.zarr")" 0
	rm "$mnt/dataset.nc"
	umount_store
	umount "$tmp/disk"
fi

# kill -9 in the midst
there=0
for i in 1 2; do
	rm -rf "$tmp/killed.zarr"
	mount_new "$tmp/killed.zarr"
	cp "$tmp/fixed.nc" "$mnt/dataset.nc" 2>/dev/null &
	copy=$!
	sleep "0.$((RANDOM % 90 + 10))"
	kill_daemon
	wait $copy
	unmount "$mnt"
	said=$(py whole "$tmp/killed.zarr" "$tmp/fixed.nc") || fail "metadata promise what is not there, $i"
	[ "$said" = "there is" ] && there=$((there + 1))
done
echo "killed twice, $there times after all was stored"
rm -rf "$tmp"/killed.zarr/v0/.z* "$tmp"/killed.zarr/{odd,time} "$tmp/killed.zarr/"{.zmetadata,.zattrs,.zgroup} # none of the arrays was there
mkdir -p "$tmp/killed.zarr/v0" && echo half >"$tmp/killed.zarr/v0/0.0.0"
"$python" -c 'import sys, zarr; zarr.open_group(sys.argv[1], mode="a")' "$tmp/killed.zarr"
must_mount "$tmp/killed.zarr" "rw,memory=${memory}M"
cp "$tmp/fixed.nc" "$mnt/dataset.nc" || fail "over what a killed daemon has left"
umount_store
py check "$tmp/killed.zarr" "$tmp/fixed.nc" || fail "values over what a killed daemon has left"

# let_go MOUNT: with a daemon that may say that not all was stored
let_go()
{
	local pid=${mounts[$1]} status=0
	mounts[$1]=
	is_mounted "$1" && unmount "$1"
	wait "$pid" || status=$?
	[ $status -le 1 ] || fail "the daemon of $1 ended with status $status"
	grep Sanitizer "$1.log" && fail "what the daemon of $1 has said"
}

# two at once on one mount
mount_new "$tmp/two.zarr"
cp "$tmp/fixed.nc" "$mnt/dataset.nc" &
eventually 60 test -s "$mnt/dataset.nc"
cp "$tmp/fixed.nc" "$mnt/dataset.nc" || fail "two writers of the same"
wait $! || fail "the other of two writers of the same"
umount_store
py check "$tmp/two.zarr" "$tmp/fixed.nc" || fail "values of two writers of the same"

# on two, in step: what breaks off takes nothing from the other
mount_new "$tmp/pair.zarr"
one=$mnt
must_mount "$tmp/pair.zarr" "rw,memory=${memory}M"
said=$(py pair "$one/dataset.nc" "$mnt/dataset.nc" "$tmp/fixed.nc") || fail "two copies in step"
echo "two copies in step: $said"
let_go "$one"
let_go "$mnt"
[ "$said" != whole ] || py check "$tmp/pair.zarr" "$tmp/fixed.nc" || fail "values of two copies in step"
[ "$said" = whole ] || [ ! -e "$tmp/pair.zarr/v0/.zarray" ] || fail "an array whose copy was told that it is not"

# a mount that ends in the midst of a copy
half_copied()
{
	rm -rf "$tmp/ended.zarr"
	mount_new "$tmp/ended.zarr"
	{ cat "$tmp/short.nc" 2>/dev/null; exec sleep 100; } >"$mnt/dataset.nc" &
	writer=$!
	eventually 60 test -e "$tmp/ended.zarr/v0/0.0.0" || fail "nothing is stored as it comes"
}
half_copied
kill "${mounts[$mnt]}"
eventually 60 ended "${mounts[$mnt]}" || fail "SIGTERM does not end a mount in the midst of a copy"
let_go "$mnt"
kill $writer 2>/dev/null
wait $writer
same "chunks after SIGTERM" "$(chunks "$tmp/ended.zarr")" 0
half_copied
umount -l "$mnt" 2>/dev/null || fusermount3 -uz "$mnt"
kill $writer
wait $writer
let_go "$mnt"
same "chunks after umount" "$(chunks "$tmp/ended.zarr")" 0
same "arrays after a mount that ended" "$(find "$tmp/ended.zarr" -name .zarray | wc -l)" 0

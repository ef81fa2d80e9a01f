#!/bin/bash
# What is read of a web server is kept on disk: a later mount asks only whether it changed, or nothing if nothing can change; killed
# daemons, damaged copies and a full disk cost time, never right bytes. Zip archives there are read by ranges, kept as well.
. "$(dirname "$0")/functions.sh"
. "$here/nginx_functions.sh"
[ -n "$nginx" ] || skip "no nginx"
needs zip curl

"$python" - "$tmp" <<'END' || exit 1
import sys, numpy as np, zarr, numcodecs
for codec, name in (numcodecs.Blosc("lz4"), "lz4"), (None, "raw"):
    group = zarr.open_group(sys.argv[1] + "/store", mode="a")
    rng = np.random.default_rng(1)
    group.create_dataset(name, data=rng.integers(0, 1000, (24, 50000), "i4"), chunks=(1, 50000), compressor=codec)
zarr.consolidate_metadata(sys.argv[1] + "/store")
pieces = zarr.open_group(sys.argv[1] + "/pieces", mode="a")
for name, length, count in ("small", 3000, 1300), ("large", 140000, 60):
    pieces.create_dataset(name, data=rng.integers(0, 255, length * count, "u1"), chunks=length, compressor=None)
zarr.consolidate_metadata(sys.argv[1] + "/pieces")
END
(cd "$tmp/store" && zip -q -r -0 "$tmp/store.zip" .)
want=$("$ZARRFS" --cat "$tmp/store" lz4 | sha256sum)
port=$(free_port)
base=http://127.0.0.1:$port
nginx_serves <<END
  log_format short '\$request_method \$uri \$status \$body_bytes_sent';
  access_log $tmp/access.log short;
  server { listen 127.0.0.1:$port; root $tmp; }
END
begin_nginx "$base/store/.zgroup"
trap 'kill $web 2>/dev/null; finish' EXIT

forget()
{
	: >"$tmp/access.log"
}

# shellcheck disable=SC2317 # by eventually
logged()
{
	grep -q "/mark-$marks " "$tmp/access.log"
}

# requests [REGEX]: since forget; the server writes of each before it takes the next
marks=0
requests()
{
	marks=$(date +%s%N)
	curl -sS -o /dev/null "$base/mark-$marks"
	eventually 60 logged || fail "nginx logs nothing"
	grep -v /mark- "$tmp/access.log" | grep -cE "${1:-.}"
}

# read_all WHAT STORE OPTIONS: a mount in which the variable is read
read_all()
{
	forget
	must_mount "$2" "$3"
	same "$1" "$(sha256sum <"$mnt/lz4")" "$want"
}

cached="cache_dir=$tmp/cache,cache_size=100M"
read_all "the first read" "$base/store" "$cached"
same "mode of the cache" "$(stat -c %a "$tmp/cache")" 700
same "chunks fetched" "$(requests 'GET /store/lz4/[0-9.]* 200')" 24
kill -9 "$daemon"
wait "$daemon" 2>/dev/null
mounts[$mnt]=
umount -l "$mnt" 2>/dev/null || fusermount3 -uz "$mnt"

# killed while copies are being made
for delay in 0 0.01 0.03 0.1; do
	must_mount "$base/store" "cache_dir=$tmp/killed,metadata_ttl=immutable"
	cat "$mnt/lz4" "$mnt/raw" >/dev/null 2>&1 &
	sleep $delay
	kill_daemon
	wait $!
	umount -l "$mnt" 2>/dev/null || fusermount3 -uz "$mnt"
done
read_all "after four kills" "$base/store" "cache_dir=$tmp/killed,metadata_ttl=immutable"
umount_store

# a ttl of 2 s: after its third all copies are asked about, none is sent
sleep 1
read_all "after a remount" "$base/store" "$cached,metadata_ttl=2"
same "chunks fetched again" "$(requests 'GET /store/lz4/[0-9.]* 200')" 0
asked=$(requests 'GET /store/lz4/[0-9.]* 304') # a chunk once more where reading it takes longer than that
[ "$asked" -ge 24 ] || fail "chunks asked about: $asked of 24"
umount_store

read_all "within the ttl" "$base/store" "$cached,metadata_ttl=1000"
same "chunks asked about within the ttl" "$(requests 'GET /store/lz4/[0-9.]* ')" 0
same "other requests of an array within the ttl" "$(requests 'GET /store/lz4/')" 1
umount_store

read_all "what cannot change" "$base/store" "$cached,metadata_ttl=immutable"
same "requests for what cannot change" "$(requests)" 0
grep -q '^zarrfs_disk_cache_objects_total{what="read"} [1-9]' "$mnt/.zarrfs/stats" || fail "the stats say nothing of the cache"
umount_store

# two mounts at once, one of them writing the other's copies again, some of them damaged
find "$tmp/cache" -type f -size +8k | head -5 | while read -r copy; do
	printf 'damaged' | dd of="$copy" bs=1 seek=5000 conv=notrunc status=none
done
must_mount "$base/store" "$cached"
first=$mnt
must_mount "$base/store" "$cached"
same "two mounts at once" "$(sha256sum <"$mnt/lz4")" "$want"
same "the other of two mounts" "$(sha256sum <"$first/lz4")" "$want"
umount_store "$first"
umount_store

# a chunk that is replaced shows
"$python" -c 'import sys, zarr; zarr.open(sys.argv[1] + "/store/lz4")[3] = 7' "$tmp"
want=$("$ZARRFS" --cat "$tmp/store" lz4 | sha256sum)
sleep 1
read_all "after a change" "$base/store" "$cached,metadata_ttl=2"
same "chunks fetched after a change" "$(requests 'GET /store/lz4/[0-9.]* 200')" 1
umount_store

# an array that is rewritten as another type: copies of the former one are not taken for the new one's, nor the other way round
write_kind()
{
	"$python" - "$tmp/store" "$1" <<'END' || exit 1
import sys, numpy as np, zarr
zarr.open_group(sys.argv[1], mode="a").create_dataset("kind", data=np.arange(1, 600001, dtype=sys.argv[2]).reshape(24, 25000),
                                                      chunks=(1, 25000), compressor=None, overwrite=True)
zarr.consolidate_metadata(sys.argv[1])
END
}
write_kind i4
must_mount "$base/store" "$cached,metadata_ttl=1000"
head -c 100 "$mnt/kind" >/dev/null
umount_store
sleep 1.1 # else nginx gives the same ETags
write_kind f4
must_mount "$base/store" "$cached,metadata_ttl=1000"
same "what was rewritten between two mounts" "$(sha256sum <"$mnt/kind")" "$("$ZARRFS" --cat "$tmp/store" kind | sha256sum)"
umount_store

# a cache that is too small for a chunk, or not to be written to
read_all "hardly any room" "$base/store" "cache_dir=$tmp/tiny,cache_size=1M"
umount_store
# what several keep at once comes on top, until the next cleaning
[ "$(du -sk "$tmp/tiny" | cut -f1)" -le 2048 ] || fail "the tiny cache has $(du -sk "$tmp/tiny")"
mkdir "$tmp/shared"
chmod 777 "$tmp/shared"
"$ZARRFS" -o "cache_dir=$tmp/shared" --ls "$base/store" >/dev/null 2>"$tmp/said" && fail "a cache that all can write to is taken"
grep -q 'must be yours' "$tmp/said" || fail "the message is '$(cat "$tmp/said")'"
if [ "$(id -u)" = 0 ]; then
	chmod 700 "$tmp/shared"
	chown 12345 "$tmp/shared"
	"$ZARRFS" -o "cache_dir=$tmp/shared" --ls "$base/store" >/dev/null 2>"$tmp/said" && fail "another's cache is taken"
	grep -q 'must be yours' "$tmp/said" || fail "about another's cache it says '$(cat "$tmp/said")'"
fi
mkdir "$tmp/full"
if mount -t tmpfs -o size=256k zarrfs-test "$tmp/full" 2>/dev/null; then
	cat /dev/zero >"$tmp/full/filling" 2>/dev/null
	"$ZARRFS" -o "cache_dir=$tmp/full/cache" --ls "$base/store" >/dev/null 2>"$tmp/said"
	same "status on a full disk" $? 1
	grep -q 'No space left' "$tmp/said" || fail "about a full disk it says '$(cat "$tmp/said")'"
	mount -o remount,ro "$tmp/full"
	"$ZARRFS" -o "cache_dir=$tmp/full/cache" --ls "$base/store" >/dev/null 2>"$tmp/said" && fail "a cache that cannot be written to is taken"
	grep -q 'Read-only' "$tmp/said" || fail "about a read-only disk it says '$(cat "$tmp/said")'"
	umount "$tmp/full"
fi
mkdir "$tmp/small"
if mount -t tmpfs -o size=4m zarrfs-test "$tmp/small" 2>/dev/null; then # else not root
	read_all "on a small disk" "$base/store" "cache_dir=$tmp/small/cache,cache_size=1G"
	cat "$mnt/raw" "$mnt/lz4" "$mnt/raw" >/dev/null || fail "reading on a small disk"
	used=$(df --output=pcent "$tmp/small" | tr -dc 0-9)
	umount_store
	umount "$tmp/small"
	[ "$used" -ge 50 ] || fail "only $used % of a small disk are used"
	[ "$used" -le 95 ] || fail "$used % of a small disk are used"
	for name in small large; do # many copies are made at once
		mount -t tmpfs -o size=4m zarrfs-test "$tmp/small"
		must_mount "$base/pieces" "cache_dir=$tmp/small/cache,cache_size=1G"
		cmp "$mnt/$name" <("$ZARRFS" --cat "$tmp/pieces" $name) || fail "$name"
		used=$(df --output=pcent "$tmp/small" | tr -dc 0-9)
		umount_store
		umount "$tmp/small"
		[ "$used" -le 95 ] || fail "$used % of a small disk are used by $name copies"
	done
fi
mkdir "$tmp/lost"
must_mount "$base/store" "cache_dir=$tmp/lost/cache"
rm -rf "$tmp/lost"
same "with a cache that went away" "$(sha256sum <"$mnt/lz4")" "$want"
same "lines in the log" "$(grep -c 'disk cache' "$mnt/.zarrfs/log")" 1
umount_store

# an archive: its directory, then one request a chunk (and where that takes long, a look whether it is the same); nothing the second time
rm "$tmp/store.zip"
(cd "$tmp/store" && zip -q -r -0 "$tmp/store.zip" .)
read_all "an archive" "$base/store.zip" "$cached,metadata_ttl=immutable"
[ "$(requests ^GET)" -le $((1 + 1 + 2 + 24 + 2)) ] || fail "an archive took $(requests) requests: $(cat "$tmp/access.log")"
umount_store
read_all "an archive, again" "$base/store.zip" "$cached,metadata_ttl=immutable"
same "requests for it" "$(requests)" 0
umount_store
exit $((failures != 0))

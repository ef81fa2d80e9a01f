#!/bin/bash
# VAR.png of one to five dimensions, 1 x 1 to 10^6 x 10^6: sizes, what Pillow reads, pixels; and pictures of 500 variables asked for at once.
. "$(dirname "$0")/functions.sh"
unset MALLOC_PERTURB_ # by which malloc takes memory of its own
"$python" -c "import PIL" 2>/dev/null || skip "no python3-pil"

for seed in 1 2; do
	"$python" "$here/picture_sizes.py" make "$tmp/store$seed" $seed || exit 1
	must_mount "$tmp/store$seed" metadata_ttl=3600
	"$python" "$here/picture_sizes.py" check "$mnt" $seed || fail "pictures of seed $seed"
	umount_store
done

count=500
sanitized && count=100
"$python" "$here/picture_sizes.py" same "$tmp/same" $count || exit 1
# of at most 128 KiB each, most of which the kernel asks for at once; one whose rest is asked for late is drawn once more
must_mount "$tmp/same" memory=64M,metadata_ttl=3600,timeout=300 # the last one waits for all others
# shellcheck disable=SC2046 # names are words
"$python" "$here/picture.py" many "$mnt" 1 $(seq -f v%g 0 $((count - 1))) || fail "$count pictures at once"
drawn=$(stat_value pictures_drawn_total)
echo "drawings for $count pictures: $drawn; peak memory: $(peak_memory) KiB"
[ "$drawn" -le $((3 * count)) ] || fail "$count pictures were drawn $drawn times"
sanitized || [ "$(peak_memory)" -le $((128 * 1024)) ] || fail "the daemon took $(peak_memory) KiB"
exit $((failures != 0))

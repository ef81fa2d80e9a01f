#!/bin/bash
# Chunks of 12 bytes that should decode to 4 GiB: an error, for which no memory is taken but that of chunks as they are.
. "$(dirname "$0")/functions.sh"
unset MALLOC_PERTURB_

zlib='{"id": "zlib"}'
shuffle='[{"id": "shuffle", "elementsize": 4}]'
while IFS='|' read -r name compressor filters; do
	mkdir -p "$tmp/store/$name"
	printf '{"zarr_format": 2, "shape": [1073741824], "chunks": [1073741824], "dtype": "<i4", "fill_value": 0, "order": "C", "compressor": %s, "filters": %s}' \
		"$compressor" "$filters" >"$tmp/store/$name/.zarray"
	printf '\x78\x9c\x4b\x4c\x4c\x04\x00\x02\x49\x01\x24\x00' >"$tmp/store/$name/0" # "aaa" by zlib, and a zero
done <<END
zlib|$zlib|null
shuffled|$zlib|$shuffle
lz4|{"id": "lz4"}|null
zstd|{"id": "zstd"}|null
bz2|{"id": "bz2"}|null
lzma|{"id": "lzma"}|null
raw|null|null
END
printf '{"zarr_format": 2}' >"$tmp/store/.zgroup"
must_mount "$tmp/store" memory=64M
for name in zlib shuffled lz4 zstd bz2 lzma raw; do
	head -c 4 "$mnt/$name" >"$tmp/got" 2>"$tmp/said" && fail "$name gives data"
	grep -q 'Input/output error' "$tmp/said" || fail "about $name it says '$(cat "$tmp/said")'"
	same "bytes of $name" "$(wc -c <"$tmp/got")" 0
done
peak=$(peak_memory)
echo "peak memory of the daemon: $((peak / 1024)) MiB with memory=64M"
sanitized || [ "$peak" -le $((128 * 1024)) ] || fail "the daemon took $((peak / 1024)) MiB with memory=64M"
umount_store

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

# An archive of a megabyte with a gigabyte of metadata in it, beside an array as it should be: that one is read.
"$python" - "$tmp/store" "$tmp/large.zip" <<'END' || exit 1
import sys
import zipfile
array = '{"zarr_format": 2, "shape": [4], "chunks": [4], "dtype": "|u1", "fill_value": 7, "order": "C", "compressor": null, "filters": null}'
with zipfile.ZipFile(sys.argv[2], "w", zipfile.ZIP_DEFLATED, compresslevel=1) as to:
    to.writestr(".zgroup", '{"zarr_format": 2}')
    to.writestr("v/.zarray", array)
    to.writestr("w/.zarray", array)
    for name in ".zmetadata", "w/.zattrs":
        with to.open(name, "w", force_zip64=True) as file:
            for _ in range(512):
                file.write(b" " * (1 << 20))
END
must_mount "$tmp/large.zip" memory=64M
same "the array beside it" "$(od -An -tu1 "$mnt/v" | tr -d ' ')" 7777
cat "$mnt/w" >/dev/null 2>&1
eventually 60 grep -q "done without consolidated metadata.*'.zmetadata' (option memory says how much)" "$log" || fail "the log does not say why .zmetadata is not used: $(cat "$log")"
peak=$(peak_memory)
echo "peak memory of the daemon: $((peak / 1024)) MiB with memory=64M"
sanitized || [ "$peak" -le $((128 * 1024)) ] || fail "the daemon took $((peak / 1024)) MiB for metadata with memory=64M"
umount_store

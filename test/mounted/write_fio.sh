#!/bin/bash
# fio writes blocks that carry their checksums into flat files and finds them again: at odd places through the kernel's pages, past them and
# through a mapping, at once, in another process, and on a mount that did not write them.
. "$(dirname "$0")/functions.sh"

needs fio
"$python" -c 'import zarr' 2>/dev/null || skip "no zarr-python"
"$python" - "$tmp/s.zarr" <<'END' || exit 1
import sys
import numpy as np
import stores
values = stores.field((32, 128, 256))
for name, chunks, how in (("slabs", (1, 128, 256), {"compressor": stores.BLOSC}), ("cubes", (8, 50, 60), stores.SHUFFLED), ("raw", (4, 64, 256), {"compressor": None})):
    stores.put(sys.argv[1], name, values, {}, chunks=chunks, **how)
END

# blocks FILE ENGINE HOW DIRECT SIZES [OPTION]...
blocks()
{
	timeout 300 fio --name=blocks --filename="$1" --ioengine="$2" --rw="$3" --direct="$4" --bsrange="$5" --bs_unaligned=$((1 - $4)) \
		--allow_file_create=0 --overwrite=1 --size=4194304 --iodepth=8 --verify=crc32c --verify_fatal=1 --verify_state_save=0 --randseed="$seed" "${@:6}" \
		>"$tmp/out" 2>&1 || fail "fio $*, seed $seed: $(tail -3 "$tmp/out")"
}

seed=${SEED:-$$}
for options in rw rw,direct_io=no; do
	must_mount "$tmp/s.zarr" "$options"
	for v in slabs cubes raw; do
		for engine in psync mmap libaio; do
			direct=0
			[ $engine != libaio ] || direct=1
			for how in randwrite randrw; do
				sizes=700-90k
				[ $direct = 0 ] || sizes=4k-128k
				blocks "$mnt/$v" $engine $how $direct $sizes --io_size=2097152 --do_verify=1 --verify_backlog=64 --end_fsync=1
			done
		done
		blocks "$mnt/$v" psync write 0 64k-64k --do_verify=0 --end_fsync=1
	done
	umount_store
	must_mount "$tmp/s.zarr"
	for v in slabs cubes raw; do
		blocks "$mnt/$v" psync read 0 64k-64k --readonly --do_verify=1
	done
	umount_store
done

#!/bin/bash
# Eighty readers, half of them past the pages, stuck in one array of a store that hangs, politely or not: other arrays are read all
# the same, a killed reader is gone, umount returns and the daemon ends.
. "$(dirname "$0")/functions.sh"

"$python" - "$tmp/store.zarr" <<'END' || exit 1
import sys
import numpy as np
import stores
stores.put(sys.argv[1], "stuck", np.arange(256 * 64 * 256, dtype="<f4").reshape(256, 64, 256), chunks=(1, 64, 256), compressor=None)
stores.put(sys.argv[1], "fine", np.arange(32 * 64 * 256, dtype="<f4").reshape(32, 64, 256), chunks=(1, 64, 256), compressor=stores.ZLIB)
stores.put(sys.argv[1], "other", np.arange(10, dtype="<i4"), chunks=(4,), compressor=None)
END
for deaf in 0 1; do
	must_mount "fault+file://$tmp/store.zarr#fault.kind=hang&fault.match=stuck/&fault.calls=get&fault.deaf=$deaf&fault.file=$tmp/broken" timeout=60
	ls -l "$mnt" >/dev/null
	head -c 4 "$mnt/stuck" | cmp - <(printf '\0\0\0\0') || fail "before the store hangs"
	sha256sum <"$mnt/fine" >"$tmp/want"
	sync -f "$mnt/fine" 2>/dev/null
	touch "$tmp/broken"
	readers=()
	way=(fullblock direct)
	for ((n = 1; n <= 80; n++)); do
		dd if="$mnt/stuck" iflag="${way[n % 2]}" bs=65536 count=1 skip=$((n * 3)) of=/dev/null 2>/dev/null &
		readers+=($!)
		disown
	done
	sleep 1
	"$python" - "$mnt/fine" "$mnt/other" <<'END' || fail "deaf=$deaf: others cannot be read beside eighty that hang"
import os, sys, time
begun = time.monotonic()
for path, size in zip(sys.argv[1:], (32 * 65536, 40)):
    file = os.open(path, os.O_RDONLY)
    os.posix_fadvise(file, 0, 0, os.POSIX_FADV_DONTNEED)
    got = 0
    while got < size:
        got += len(os.pread(file, 100000, got))
took = time.monotonic() - begun
print("read beside them in %.1f s" % took)
sys.exit(took > 8)
END
	timeout 10 cat "$mnt/.zarrfs/stats" >/dev/null || fail "deaf=$deaf: no stats"
	timeout 10 ls -l "$mnt" >/dev/null || fail "deaf=$deaf: no listing"
	kill -9 "${readers[0]}"
	eventually 5 ended "${readers[0]}" || fail "deaf=$deaf: a reader under kill -9 is still there after 5 s"
	kill -9 "${readers[@]:1}"
	for reader in "${readers[@]}"; do
		eventually 5 ended "$reader" || fail "deaf=$deaf: a reader under kill -9 is still there"
	done
	timeout 5 umount "$mnt" || timeout 5 fusermount3 -u "$mnt" || fail "deaf=$deaf: umount"
	eventually 5 ended "$daemon" || fail "deaf=$deaf: the daemon does not end within 5 s"
	rm "$tmp/broken"
done

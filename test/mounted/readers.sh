#!/bin/bash
# Several readers of one file at once, each in its own way: all get the right bytes.
. "$(dirname "$0")/functions.sh"

"$python" "$here/tools.py" make "$tmp/store.zarr" "$tmp/want" || exit 1
for memory in 1G 64M; do
	must_mount "$tmp/store.zarr" memory=$memory
	readers=()
	for n in 1 2; do
		cmp "$mnt/big" "$tmp/want/big" &
		readers+=($!)
		cmp -i $((n * 9000001)) "$mnt/big" "$tmp/want/big" &
		readers+=($!)
		"$python" "$here/tools.py" memmap "$mnt" "$tmp/want" &
		readers+=($!)
		"$python" "$here/tools.py" seek "$mnt" "$tmp/want" &
		readers+=($!)
	done
	for reader in "${readers[@]}"; do
		wait "$reader" || fail "a reader with memory=$memory"
	done
	umount_store
done

# many threads open a file at once, while metadata are looked at again each time
must_mount "$tmp/store.zarr" metadata_ttl=0
"$python" - "$mnt/scalar" "$tmp/want/scalar" <<'END' || fail "many threads open a file"
import sys, threading, time
failed, end, want = set(), time.monotonic() + 3, open(sys.argv[2], "rb").read()
def reader():
    while time.monotonic() < end:
        try:
            with open(sys.argv[1], "rb") as file:
                failed.update({"other bytes"} if file.read() != want else ())
        except OSError as error:
            failed.add(str(error))
threads = [threading.Thread(target=reader) for _ in range(8)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
sys.exit(", ".join(failed) or 0)
END
umount_store

#!/bin/bash
# What must not be shown as data gives EIO, and the log names the cause; everything beside it reads as if nothing were wrong.
. "$(dirname "$0")/functions.sh"
needs getfattr

"$python" "$here/broken.py" make "$tmp/store.zarr" || exit 1
must_mount "$tmp/store.zarr" endian=little
"$python" "$here/broken.py" check "$mnt" || fail "see above"
umount_store
must_mount "$tmp/store.zarr" endian=little,memory=64M
ls -lR "$mnt" >"$tmp/list" 2>&1 || fail "ls -lR: $(cat "$tmp/list")"
umount_store

# A chunk that fails once, while it is read ahead, is read again: no read fails, and nothing is logged.
"$python" "$here/tools.py" make "$tmp/far.zarr" "$tmp/want" || exit 1
for nth in 3 7 11; do
	must_mount "fault+file://$tmp/far.zarr#fault.kind=eio&fault.match=big/&fault.calls=get&fault.nth=$nth&fault.remote=1"
	cmp "$mnt/big" "$tmp/want/big" || fail "a chunk that fails once, ahead"
	same "said of it" "$(cat "$mnt/.zarrfs/log")" ""
	getfattr -n user.zarrfs.error "$mnt/big" >"$tmp/said" 2>&1 && fail "what was read well has an error: $(cat "$tmp/said")"
	umount_store
	same "said of it at the end" "$(grep cannot "$log")" ""
done

# What a program asks for is told at once, whether there are pages of it or not, and its attribute goes when it is read well.
for flag in direct fullblock; do
	touch "$tmp/broken"
	must_mount "fault+file://$tmp/far.zarr#fault.kind=eio&fault.match=big/0&fault.calls=get&fault.file=$tmp/broken"
	dd if="$mnt/big" iflag=$flag bs=256k of="$tmp/got" 2>"$tmp/said" && fail "a broken store gave data"
	grep -q 'Input/output error' "$tmp/said" || fail "it says '$(cat "$tmp/said")'"
	grep -q "cannot read 'big': chunk 'big/.*injected fault" "$mnt/.zarrfs/log" || fail "the log does not tell of it ($flag): $(cat "$mnt/.zarrfs/log")"
	getfattr -d "$mnt/big" 2>/dev/null | grep -q "user.zarrfs.error=.*injected fault" || fail "no error in $(getfattr -d "$mnt/big")"
	rm "$tmp/broken"
	cmp "$mnt/big" "$tmp/want/big" || fail "what is whole again"
	getfattr -d "$mnt/big" 2>/dev/null | grep "user.zarrfs.error" && fail "what was read well has an error"
	umount_store
done

#!/bin/bash
# The flat file as programs write it: dd, cp, cat, memmap, tofile, truncate, over its end; errors that stick; kill -9 after fsync; two mounts
# of one chunk; a full disk.
. "$(dirname "$0")/functions.sh"

"$python" -c 'import zarr, numpy' 2>/dev/null || skip "no zarr-python"

cat >"$tmp/make.py" <<'END'
import sys
import numpy as np
import stores
values = np.arange(20000, dtype="<f4").reshape(20, 1000)
stores.put(sys.argv[1], "a", values, {"_ARRAY_DIMENSIONS": ["y", "x"]}, chunks=(3, 400), compressor=stores.ZLIB, fill_value=0)
END
# left STORE: what of a is stored
left()
{
	"$python" -c 'import sys, stores; sys.stdout.buffer.write(stores.flat(stores.values(sys.argv[1], "a")))' "$1"
}
store=$tmp/a.zarr
"$python" "$tmp/make.py" "$store" || exit 1
must_mount "$store" rw
cd "$mnt" || exit 1

left "$store" >"$tmp/plain"
cmp a "$tmp/plain" || fail "not as it was"
head -c 5000 /dev/urandom >"$tmp/piece"
for file in a "$tmp/plain"; do
	dd if="$tmp/piece" of="$file" bs=999 seek=7 conv=notrunc status=none || fail "dd"
	printf hello | dd of="$file" bs=1 seek=40000 conv=notrunc,fsync status=none || fail "dd conv=fsync"
done
cmp a "$tmp/plain" || fail "after dd"
left "$store" | cmp - "$tmp/plain" || fail "after dd, as stored"
head -c 80000 /dev/urandom >"$tmp/plain"
cp "$tmp/plain" a || fail "cp"
left "$store" | cmp - "$tmp/plain" || fail "after cp"
head -c 80000 /dev/urandom >"$tmp/plain"
cat "$tmp/plain" >a || fail "cat"
left "$store" | cmp - "$tmp/plain" || fail "after cat"
"$python" - a "$tmp/plain" <<'END' || fail "numpy"
import sys
import numpy as np
for name in sys.argv[1:]:
    m = np.memmap(name, "f4", "r+", shape=(20, 1000))
    m[3, 7:900] = np.arange(893)
    m[:, 5] = -1
    del m
    m = np.memmap(name, "f4", "w+", shape=(20, 1000))
    m[...] = np.arange(20000).reshape(20, 1000) / 3
    m.flush()
    del m
    x = np.fromfile(name, "f4")
    (x * 2).tofile(name)
END
stored_alike()
{
	left "$store" | cmp -s - "$tmp/plain"
}
eventually 60 cmp -s a "$tmp/plain" || fail "after numpy"
eventually 60 stored_alike || fail "after numpy, as stored"

# What write() wrote a mapping shows at once, though others fill pages all the time.
cat >"$tmp/shows.py" <<'END'
import mmap
import os
import sys
page = mmap.PAGESIZE
readers = []
for _ in range(2):
    readers.append(os.fork())
    if not readers[-1]:
        m = mmap.mmap(os.open(sys.argv[1], os.O_RDONLY), 3 * page, prot=mmap.PROT_READ)
        while os.getppid() != 1:
            m[0], m[page], m[2 * page]
        os._exit(0)
f = os.open(sys.argv[1], os.O_RDWR)
m = mmap.mmap(f, 3 * page, prot=mmap.PROT_READ)
old = 0
for k in range(2000):
    at = page * (k % 3)
    os.pwrite(f, b"%04d" % k, at)
    old += m[at : at + 4] != b"%04d" % k
for reader in readers:
    os.kill(reader, 9)
sys.exit("%d times of 2000 a mapping shows what was before a write()" % old if old else None)
END
"$python" "$tmp/shows.py" a || fail "mappings of what is written"
cat "$tmp/plain" >a

# sizes
same "size" "$(stat -c %s a)" 80000
truncate -s 80000 a || fail "truncate to the size that it has"
truncate -s 4000 a 2>/dev/null && fail "a fixed dimension became shorter"
"$python" -c 'import os; os.truncate("a", 0)' 2>/dev/null && fail "truncate to nothing by name"
same "size after truncate" "$(stat -c %s a)" 80000
: >a || fail "> a"
left "$store" | cmp - "$tmp/plain" || fail "> a changed something"
full_size()
{
	[ "$(stat -c %s a)" = 80000 ]
}
eventually 60 full_size || fail "size after > a: $(stat -c %s a)"

# an error sticks until it is known
dd if="$tmp/piece" of=a bs=5000 seek=79999 oflag=seek_bytes conv=notrunc status=none 2>"$tmp/said" && fail "written over the end"
grep -q "File too large" "$tmp/said" || fail "over the end: $(cat "$tmp/said")"
getfattr --only-values -n user.zarrfs.error a 2>&1 | grep -q unlimited || fail "no user.zarrfs.error"
dd if="$tmp/piece" of=a bs=1 count=1 conv=notrunc status=none 2>/dev/null && fail "the error does not stick"
cat .zarrfs/refresh >/dev/null
dd if="$tmp/plain" of=a bs=1 count=1 conv=notrunc status=none || fail "refresh did not forget the error"
head -c 100 "$tmp/plain" >"$tmp/short"
cp "$tmp/short" a 2>/dev/null && fail "a shorter copy was taken"
stuck()
{
	getfattr --only-values -n user.zarrfs.error a 2>/dev/null | grep -q .
}
eventually 60 stuck || fail "a shorter copy is not known to be one"
cat .zarrfs/refresh >/dev/null
left "$store" | cmp - "$tmp/plain" || fail "a shorter copy changed more"

# other files of the variable show it when close() has returned, open or not
tail -c 80000 a.npy | cmp - "$tmp/plain" || fail "a.npy"
head -c 80000 /dev/urandom >"$tmp/plain"
exec 5<a.npy
head -c 4096 <&5 >/dev/null
cp "$tmp/plain" a
cmp - "$tmp/plain" <&5 || fail "an open a.npy shows what was there before"
exec 5<&-
tail -c 80000 a.npy | cmp - "$tmp/plain" || fail "a.npy shows what was there before"
cd /

# kill -9 after fsync
for _ in 1 2 3; do
	head -c 80000 /dev/urandom >"$tmp/plain"
	dd if="$tmp/plain" of="$mnt/a" bs=80000 conv=notrunc,fsync status=none || fail "fsync"
	kill_daemon
	unmount "$mnt"
	left "$store" | cmp - "$tmp/plain" || fail "kill -9 after fsync"
	must_mount "$store" rw
done

# two mounts of one directory write to the same chunks
first=$mnt
must_mount "$store" rw
"$python" "$here/two_writers.py" "$first/a" "$mnt/a" "$tmp/plain" || fail "two mounts"
left "$store" | cmp - "$tmp/plain" || fail "two mounts lost something"
cat >"$tmp/map.py" <<'END'
import mmap
import os
import sys
m = mmap.mmap(os.open(sys.argv[1], os.O_RDWR), 0)
for k in range(int(sys.argv[2]), 60, 2):
    m[8000 + k] = k + 1
    m.flush()
END
"$python" "$tmp/map.py" "$first/a" 0 &
"$python" "$tmp/map.py" "$mnt/a" 1 || fail "a mapping of two mounts"
wait $! || fail "a mapping of two mounts"
"$python" -c 'import sys; b = open(sys.argv[1], "rb").read(); open(sys.argv[1], "wb").write(b[:8000] + bytes(range(1, 61)) + b[8060:])' "$tmp/plain"
left "$store" | cmp - "$tmp/plain" || fail "mappings of two mounts lost something"
umount_store "$mnt"
umount_store "$first"

# what a command leaves is stored when it ends
head -c 80000 /dev/urandom >"$tmp/plain"
mkdir "$tmp/at"
"$ZARRFS" -o rw "$store" "$tmp/at" -- cp "$tmp/plain" "$tmp/at/a" || fail "cp as a command"
left "$store" | cmp - "$tmp/plain" || fail "after cp as a command"

# a full disk
[ "$(id -u)" = 0 ] || exit
mkdir "$tmp/small"
mount -t tmpfs -o size=400k tmpfs "$tmp/small" 2>/dev/null || exit
"$python" "$tmp/make.py" "$tmp/small/a.zarr" || fail "make"
must_mount "$tmp/small/a.zarr" rw
dd if=/dev/zero of="$tmp/small/filler" status=none 2>/dev/null
cp "$tmp/plain" "$mnt/a" 2>"$tmp/said" && fail "cp does not fail though the disk is full"
grep -q "No space left" "$tmp/said" || fail "a full disk: $(cat "$tmp/said")"
"$ZARRFS" -o rw "$tmp/small/a.zarr" "$tmp/at" -- "$python" -c '
import mmap, os, sys
fd = os.open(sys.argv[1], os.O_RDWR)
m = mmap.mmap(fd, 0)
m[:] = os.urandom(len(m))
m.close()
os._exit(0)' "$tmp/at/a" 2>"$tmp/said" && fail "the exit status does not tell that something was not stored"
grep -q "not stored: 'a': cannot write 'a/[0-9c./]*': [^']*No space left[^']*$" "$tmp/said" ||
	fail "what was not stored is not named, with where and why once: $(cat "$tmp/said")"
rm "$tmp/small/filler"
cat "$mnt/.zarrfs/refresh" >/dev/null
cp "$tmp/plain" "$mnt/a" || fail "room on the disk again"
umount_store
left "$tmp/small/a.zarr" | cmp - "$tmp/plain" || fail "after a full disk"
"$ZARRFS" "$tmp/small/a.zarr" "$tmp/at" -- cp "$tmp/at/a.nc" "$tmp/plain.nc" || fail "a.nc"

# a new file that the disk has no room for leaves nothing, and is copied again when there is
mkdir "$tmp/small/b.zarr" && echo '{"zarr_format": 2}' >"$tmp/small/b.zarr/.zgroup"
must_mount "$tmp/small/b.zarr" rw
dd if=/dev/zero of="$tmp/small/filler" status=none 2>/dev/null
cp "$tmp/plain.nc" "$mnt/a.nc" 2>"$tmp/said" && fail "cp of a new file does not fail though the disk is full"
grep -q "No space left" "$tmp/said" || fail "a new file on a full disk: $(cat "$tmp/said")"
[ -z "$(ls "$tmp/small/b.zarr")" ] || fail "a new file on a full disk leaves $(ls "$tmp/small/b.zarr")"
rm "$tmp/small/filler"
cp "$tmp/plain.nc" "$mnt/a.nc" || fail "a new file, and room on the disk again"
umount_store
"$ZARRFS" "$tmp/small/b.zarr" "$tmp/at" -- cmp "$tmp/at/a" "$tmp/plain" || fail "a new file after a full disk"
umount "$tmp/small"

# That a codec's library is gone is said when a file is opened, not when its first chunk is stored; what needs none of it is read.
for id in blosc zfpy; do
	name=lib${id%y}
	library=$(ldconfig -p | sed -n "s/.*$name\.so\.1 .*=> //p" | head -1)
	if [ -z "$library" ] || ! unshare -m true 2>/dev/null; then continue; fi
	mkdir "$tmp/gone.$id" "$tmp/$id.zarr"
	cat >"$tmp/$id.zarr/.zarray" <<-EOF
		{"zarr_format": 2, "shape": [10], "chunks": [5], "dtype": "<f4", "fill_value": 1, "order": "C", "filters": null, "compressor": {"id": "$id",
		$([ $id = blosc ] && echo '"cname": "lz4", "clevel": 5, "shuffle": 1' || echo '"mode": 4, "tolerance": 0.01, "rate": -1, "precision": -1')}}
	EOF
	# shellcheck disable=SC2016 # for the shell within
	unshare -m bash -c '
		mount --bind /dev/null "$1" || exit
		"$2" -f -o rw "$3" "$4" &
		until mountpoint -q "$4" || ! kill -0 $!; do sleep 0.1; done
		head -c 4 "$4/$5.zarr" >/dev/null || echo not read
		(exec 9<>"$4/$5.zarr") && echo opened
		umount "$4"
		wait' - "$library" "${ZARRFS%% *}" "$tmp/$id.zarr" "$tmp/gone.$id" $id >"$tmp/said" 2>&1
	grep -q "cannot open '$id.zarr': .*$name" "$tmp/said" || fail "without $name: $(cat "$tmp/said")"
	! grep -x "opened\|not read" "$tmp/said" || fail "without $name"
done

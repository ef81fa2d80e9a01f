#!/bin/bash
# A store that stops answering: EIO within the deadline, other files stay readable, a reader can be killed, umount returns.
. "$(dirname "$0")/functions.sh"

timeout=4
sanitized && timeout=8
"$python" "$here/tools.py" make "$tmp/store.zarr" "$tmp/want" || exit 1
first=$(by_form big/0 big/c/0/) # what holds the first rows of big …
second=$(by_form big/1.0.0 big/c/1/0/0) # … and the ones from here on:
begin=$(by_form 16 32)
touch "$tmp/broken"
must_mount "fault+file://$tmp/store.zarr#fault.kind=hang&fault.match=big/&fault.calls=get,stat&fault.file=$tmp/broken" "timeout=$timeout"
cat "$mnt/t2m" >/dev/null

rm "$tmp/broken"
ls -l "$mnt" >/dev/null
touch "$tmp/broken"
before=$SECONDS
head -c 1000 "$mnt/big" >/dev/null 2>"$tmp/said" &
reader=$!
for file in t2m ocean/salt scalar; do # while that one waits
	timeout $((timeout / 2)) cmp "$mnt/$file" "$tmp/want/$file" || fail "$file cannot be read beside one that hangs"
done
wait $reader && fail "a read from a store that hangs gave data"
grep -q 'Input/output error' "$tmp/said" || fail "it says '$(cat "$tmp/said")'"
[ $((SECONDS - before)) -le $((timeout + 3)) ] || fail "the read took $((SECONDS - before)) s with timeout=$timeout"
grep -q big "$mnt/.zarrfs/log" || fail "nothing about it in the log"

# a reader that is killed is gone at once
sleep 1.5 # until then what hung is refused
head -c 1000 "$mnt/big" >/dev/null 2>&1 &
reader=$!
disown
sleep 0.5
kill -9 $reader
eventually 1 ended $reader || fail "a reader under kill -9 is still there after 1 s"

# the store comes back, and so does the file
rm "$tmp/broken"
eventually 10 cmp -s "$mnt/big" "$tmp/want/big" || fail "the file does not come back with the store"

# many at once are stuck: the mount still answers; once they are killed it is taken down, though the store still hangs
umount_store
touch "$tmp/broken"
must_mount "fault+file://$tmp/store.zarr#fault.kind=hang&fault.match=$first&fault.calls=get&fault.file=$tmp/broken" "timeout=30"
readers=()
for n in 1 2 3 4 5 6 7 8; do
	dd if="$mnt/big" bs=4k count=1 skip=$((n * 150)) of=/dev/null 2>/dev/null &
	readers+=($!)
	disown
done
sleep 0.5
timeout 10 cmp "$mnt/t2m" "$tmp/want/t2m" || fail "t2m cannot be read beside eight that hang"
[ -n "$(timeout 10 cat "$mnt/.zarrfs/stats")" ] || fail "no stats beside eight that hang"
kill -9 "${readers[@]}"
for reader in "${readers[@]}"; do
	eventually 5 ended "$reader" || fail "a reader under kill -9 is still there after 5 s"
done
before=$SECONDS
timeout 10 umount "$mnt" || timeout 10 fusermount3 -u "$mnt" || fail "umount"
eventually 5 ended "$daemon" || fail "the daemon does not end within 5 s of umount"
[ $((SECONDS - before)) -le 5 ] || fail "umount took $((SECONDS - before)) s"

# of two programs that share an open file one is killed, late: the other has no error of that
must_mount "fault+file://$tmp/store.zarr#fault.kind=hang&fault.match=$first&fault.calls=get&fault.file=$tmp/broken" "timeout=8"
"$python" - "$mnt/big" "$tmp/want/big" "$tmp/broken" <<'END' || fail "a file that another program was killed over cannot be read"
import os, sys, time
file = os.open(sys.argv[1], os.O_RDONLY | os.O_DIRECT)  # a request of its own, which can be interrupted
child = os.fork()
if child == 0:
    os.pread(file, 1000, 0)
    os._exit(0)
time.sleep(5)
os.kill(child, 9)
os.waitpid(child, 0)
time.sleep(0.3)
os.unlink(sys.argv[3])
sys.exit(os.pread(file, 1000, 0) != open(sys.argv[2], "rb").read(1000))
END
umount_store
touch "$tmp/broken"

# what lies before a chunk that hangs is read, though the kernel's read-ahead asks for both together
must_mount "fault+file://$tmp/store.zarr#fault.kind=hang&fault.match=$second&fault.calls=get&fault.file=$tmp/broken" "timeout=$timeout"
"$python" - "$mnt/big" "$tmp/want/big" "$begin" <<'END' || fail "what lies before a chunk that hangs cannot be read: $(tail -3 "$log")"
import os, sys
file, want = (os.open(name, os.O_RDONLY) for name in sys.argv[1:3])
for again in range(2):
    for at in range(0, int(sys.argv[3]) * 250 * 400 * 4 - 8192, 8192):
        if os.pread(file, 8192, at) != os.pread(want, 8192, at):
            sys.exit("FAILED: other bytes at %d" % at)
END
umount_store

# a program that reads 8 KiB at a time and does not stop at an error does not wait for a chunk each time, and hears the same: what hung is refused for
# a second, in which a busy machine may not come to all 24 reads
must_mount "fault+file://$tmp/store.zarr#fault.kind=hang&fault.match=$second&fault.calls=get&fault.file=$tmp/broken" "timeout=$timeout"
before=$SECONDS
"$python" - "$mnt/big.nc" "$mnt/big" "$second" "$begin" <<'END' || fail "a chunk that hangs, read in small parts: see above"
import os, sys
for name in sys.argv[1:3]:
    file = os.open(name, os.O_RDONLY)
    for n in range(12):
        try:
            at = os.fstat(file).st_size - (60 - int(sys.argv[4])) * 250 * 400 * 4 + n * 8192
            os.pread(file, 8192, at)
            sys.exit("FAILED: data at %d of %s" % (at, name))
        except OSError as e:
            said = os.getxattr(name, "user.zarrfs.error").decode()
            if sys.argv[3] not in said:
                sys.exit("FAILED: it says '%s'" % said)
END
[ $((SECONDS - before)) -le $((12 * timeout)) ] || fail "24 reads of a chunk that hangs took $((SECONDS - before)) s with timeout=$timeout"
rm "$tmp/broken"
cat "$mnt/.zarrfs/refresh" >/dev/null
cmp "$mnt/big" "$tmp/want/big" || fail "refresh does not bring back what hung: $(tail -3 "$log")"
umount_store

touch "$tmp/broken"

# what fails shortly before its time is over is not begun again when the kernel asks for the same page
printf 'no chunk' >"$tmp/store.zarr/$(by_form big/0.0.0 big/c/0/0/0)"
must_mount "fault+file://$tmp/store.zarr#fault.kind=delay&fault.ms=4000&fault.match=$first&fault.calls=get&fault.file=$tmp/broken" "timeout=5"
before=$SECONDS
head -c 1000 "$mnt/big" >/dev/null 2>&1 && fail "a broken chunk gave data"
[ $((SECONDS - before)) -le 7 ] || fail "a read that fails after 4 s took $((SECONDS - before)) s"
umount_store

# a listing that hangs fails alone: the directory and what lies in it are found, and df works
rm -f "$tmp/broken"
cp -r "$data/sample.zarr" "$tmp/sample.zarr"
rm "$tmp/sample.zarr/.zmetadata"
must_mount "fault+file://$tmp/sample.zarr#fault.kind=hang&fault.calls=list&fault.file=$tmp/broken&fault.remote=1" "timeout=2,metadata_ttl=1"
cat "$mnt/lat" >/dev/null
touch "$tmp/broken"
sleep 1.2 # the kernel asks for the directory again
ls "$mnt" >/dev/null 2>&1 && fail "a listing that hangs is a listing"
df "$mnt" >/dev/null || fail "df after a listing that hangs"
for file in lon lat; do
	same "$file after a listing that hangs" "$(sha256sum <"$mnt/$file" | cut -c1-64)" "$(sed -n "s/ .*$file\$//p" "$data/sample.sha256")"
done

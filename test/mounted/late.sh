#!/bin/bash
# A store that never answers and looks at no deadline, for names and for data: each operation ends in time all the same, a program that is
# killed is gone, a program that only gets a signal goes on waiting, and the mount answers what does not need that store.
. "$(dirname "$0")/functions.sh"

export TSAN_OPTIONS="${TSAN_OPTIONS:-}:report_thread_leaks=0" # a daemon that leaves hanging requests waits for no thread

put_sample "$tmp/store.zarr"
timeout=8
store="fault+file://$tmp/store.zarr#fault.kind=hang&fault.deaf=1&fault.match=wind&fault.calls=get,stat,list&fault.file=$tmp/broken"
must_mount "$store" "timeout=$timeout,metadata_ttl=1"
ls -lR "$mnt" >/dev/null
cat "$mnt/sst" >/dev/null
touch "$tmp/broken"
sleep 1.2

# takes COMMAND...: it fails, once its time is over
takes()
{
	local before=$SECONDS
	"$@" >/dev/null 2>"$tmp/said" && fail "'$*' succeeds"
	grep -q "Input/output error" "$tmp/said" || fail "'$*' says '$(cat "$tmp/said")'"
	[ $((SECONDS - before)) -lt $((2 * timeout)) ] || fail "'$*' takes $((SECONDS - before)) s with timeout=$timeout"
}

takes stat "$mnt/wind/u"
takes ls "$mnt/wind/"
grep -q "wind.*does not answer in time" "$mnt/.zarrfs/log" || fail "the log says '$(cat "$mnt/.zarrfs/log")'"

# A signal that is caught interrupts nothing.
cat >"$tmp/signals.py" <<'END'
import os, signal, sys, time
signal.signal(signal.SIGALRM, lambda *a: None)
signal.setitimer(signal.ITIMER_REAL, 0.1, 0.1)
start = time.time()
try:
    os.stat(sys.argv[1])
except OSError as error:
    print(error.errno, time.time() - start >= float(sys.argv[2]))
END
sleep 1.2 # what has just run out of time is refused at once for a second
same "a stat that gets signals" "$("$python" "$tmp/signals.py" "$mnt/wind/x" 2)" "5 True"
# the store comes back
rm "$tmp/broken"
eventually 60 test -d "$mnt/wind" || fail "the group does not come back with the store"

# and an end is an end while it is gone
# shellcheck disable=SC2317 # by its name
let_go()
{
	umount "$mnt" 2>/dev/null || fusermount3 -u "$mnt" 2>/dev/null
}
touch "$tmp/broken"
kill -HUP "$daemon"
sleep 0.3
eventually 60 let_go || fail "umount while a look at the store hangs"
eventually 60 ended "$daemon" || fail "a look at the store that hangs keeps the daemon"
rm "$tmp/broken"
must_mount "$store" "timeout=$timeout,metadata_ttl=1"
touch "$tmp/broken"
stat "$mnt/wind/z" >/dev/null 2>&1 &
disown
sleep 0.3
kill -TERM "$daemon"
eventually 60 ended "$daemon" || fail "SIGTERM does not end the daemon while a name hangs"
is_mounted "$mnt" && fail "still mounted"

# With ten minutes for each: what is killed is gone, also after a signal that is caught, and while many hang in names all else goes on.
rm "$tmp/broken"
must_mount "$store" "timeout=600,metadata_ttl=1"
ls -lR "$mnt" >/dev/null
cat "$mnt/sst" >/dev/null
touch "$tmp/broken"
sleep 1.2
stat "$mnt/wind/w" >/dev/null 2>&1 &
stat=$!
disown
sleep 0.3
kill -9 $stat
eventually 60 ended $stat || fail "stat under kill -9 is still there after a minute"
"$python" "$tmp/signals.py" "$mnt/wind/y" 2 &
stat=$!
disown
sleep 0.8
kill -9 $stat
eventually 60 ended $stat || fail "it is still there a minute after kill -9"
for n in $(seq 30); do
	stat "$mnt/wind/v$n" >/dev/null 2>&1 &
	disown
done
sleep 0.3
timeout 60 cat "$mnt/sst" >/dev/null || fail "sst cannot be read"
timeout 60 df "$mnt" >/dev/null || fail "df hangs"
[ -n "$(timeout 60 cat "$mnt/.zarrfs/stats")" ] || fail "no stats"
rm "$tmp/broken"
eventually 60 test -d "$mnt/wind" || fail "the group does not come back to a mount with much time"
umount_store
touch "$tmp/broken"

# data that hang are waited for once, though the kernel asks for the page again: of a variable, and of a key itself
must_mount "fault+file://$tmp/store.zarr#fault.kind=hang&fault.deaf=1&fault.match=$(by_form sst/0 sst/c/0)&fault.calls=get&fault.file=$tmp/broken" "timeout=$timeout"
takes head -c 1000 "$mnt/sst"
takes head -c 1000 "$mnt/.store/sst/$(by_form 0.0.0 c/0/0/0)"
exit $((failures != 0))

#!/bin/bash
# A store that never answers and looks at no deadline, for names and for data: each operation ends in time all the same, a program that is
# killed is gone, a program that only gets a signal goes on waiting, and the mount answers what does not need that store.
. "$(dirname "$0")/functions.sh"

export TSAN_OPTIONS="${TSAN_OPTIONS:-}:report_thread_leaks=0" # a daemon that leaves hanging requests waits for no thread

put_sample "$tmp/store.zarr"
timeout=3
store="fault+file://$tmp/store.zarr#fault.kind=hang&fault.deaf=1&fault.match=wind&fault.calls=get,stat,list&fault.file=$tmp/broken"
must_mount "$store" "timeout=$timeout,metadata_ttl=1"
ls -lR "$mnt" >/dev/null
cat "$mnt/sst" >/dev/null
touch "$tmp/broken"
sleep 1.2

# takes AT-MOST COMMAND...: it fails, within so many seconds
takes()
{
	local most=$1 before=$SECONDS
	shift
	"$@" >/dev/null 2>"$tmp/said" && fail "'$*' succeeds"
	grep -q "Input/output error" "$tmp/said" || fail "'$*' says '$(cat "$tmp/said")'"
	[ $((SECONDS - before)) -le "$most" ] || fail "'$*' takes $((SECONDS - before)) s with timeout=$timeout"
}

takes $((timeout + 3)) stat "$mnt/wind/u"
takes $((timeout + 3)) ls "$mnt/wind/"
grep -q "wind.*does not answer in time" "$mnt/.zarrfs/log" || fail "the log says '$(cat "$mnt/.zarrfs/log")'"

# killed; what has just run out of time is refused at once for a second, so let that pass
sleep 1.2
stat "$mnt/wind/w" >/dev/null 2>&1 &
stat=$!
disown
sleep 0.3
kill -9 $stat
eventually 1 ended $stat || fail "stat under kill -9 is still there after 1 s"

# A signal that is caught interrupts nothing; one that ends a program does, also after the other.
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
sleep 1.2
same "a stat that gets signals" "$("$python" "$tmp/signals.py" "$mnt/wind/x" 2)" "5 True"
sleep 1.2
"$python" "$tmp/signals.py" "$mnt/wind/y" 2 &
stat=$!
disown
sleep 0.8
kill -9 $stat
eventually 1 ended $stat || fail "it is still there 1 s after kill -9"

# many hang in names; all else goes on
for n in $(seq 30); do
	stat "$mnt/wind/v$n" >/dev/null 2>&1 &
	disown
done
sleep 0.3
timeout 2 cat "$mnt/sst" >/dev/null || fail "sst cannot be read"
timeout 2 df "$mnt" >/dev/null || fail "df hangs"
[ -n "$(timeout 2 cat "$mnt/.zarrfs/stats")" ] || fail "no stats"

# the store comes back
rm "$tmp/broken"
eventually 10 test -d "$mnt/wind" || fail "the group does not come back with the store"

# and an end is an end while it is gone
# shellcheck disable=SC2317 # by its name
let_go()
{
	umount "$mnt" 2>/dev/null || fusermount3 -u "$mnt" 2>/dev/null
}
touch "$tmp/broken"
kill -HUP "$daemon"
sleep 0.3
eventually 10 let_go || fail "umount while a look at the store hangs"
eventually 6 ended "$daemon" || fail "a look at the store that hangs keeps the daemon"
rm "$tmp/broken"
must_mount "$store" "timeout=$timeout,metadata_ttl=1"
touch "$tmp/broken"
stat "$mnt/wind/z" >/dev/null 2>&1 &
disown
sleep 0.3
kill -TERM "$daemon"
eventually 6 ended "$daemon" || fail "SIGTERM does not end the daemon while a name hangs"
is_mounted "$mnt" && fail "still mounted"

# data that hang are waited for once, though the kernel asks for the page again: of a variable, and of a key itself
must_mount "fault+file://$tmp/store.zarr#fault.kind=hang&fault.deaf=1&fault.match=$(by_form sst/0 sst/c/0)&fault.calls=get&fault.file=$tmp/broken" "timeout=$timeout"
takes $((timeout + 3)) head -c 1000 "$mnt/sst"
takes $((timeout + 3)) head -c 1000 "$mnt/.store/sst/$(by_form 0.0.0 c/0/0/0)"
exit $((failures != 0))

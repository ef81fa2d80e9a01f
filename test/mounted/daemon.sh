#!/bin/bash
# In the background: it returns when the mount can be used, says on the terminal what fails, then talks to the system log; signals.
. "$(dirname "$0")/functions.sh"

[ -c /dev/fuse ] || skip "cannot mount: no /dev/fuse"
store=$data/sample.zarr
mkdir "$tmp/at"

# daemon_of MNT: the process that serves it
daemon_of()
{
	pgrep -f -- "$ZARRFS .*$1\$"
}

# background ARGUMENT...: mounts on $tmp/at; its process is then $daemon
background()
{
	timeout 30 "$ZARRFS" "$@" "$tmp/at" >"$tmp/said" 2>&1 || fail "cannot mount: $(cat "$tmp/said")"
	same "what it says" "$(cat "$tmp/said")" ""
	daemon=$(daemon_of "$tmp/at")
	mounts[$tmp/at]=
}

# shellcheck disable=SC2317 # by eventually
no_daemon()
{
	[ -z "$(daemon_of "$tmp/at")" ]
}

# gone: neither mount nor daemon is left
# shellcheck disable=SC2317 # by eventually
gone()
{
	! is_mounted "$tmp/at" && ended "$daemon"
}

syslog=
if [ "$(id -u)" = 0 ] && [ ! -e /dev/log ]; then
	syslog=$tmp/syslog
	"$python" -c '
import os, socket, sys
s = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
s.bind("/dev/log")
os.chmod("/dev/log", 0o666)
with open(sys.argv[1], "ab", 0) as f:
    while True:
        f.write(s.recv(65536).rstrip(b"\0\n") + b"\n")' "$syslog" &
	logger=$!
	trap 'kill $logger; rm -f /dev/log; finish' EXIT
	eventually 60 test -S /dev/log || fail "no system log for this test"
fi

cd "$data" || exit 1
background -o metadata_ttl=3600 sample.zarr # a relative path, seen from a process that has moved to /
same "bytes through the mount" "$(sha256sum <"$tmp/at/lat" | cut -c1-64)  lat" "$(grep ' lat$' "$data/sample.sha256")"
[ -n "$daemon" ] || fail "no daemon"
same "its directory" "$(readlink "/proc/$daemon/cwd")" /
same "its stderr" "$(readlink "/proc/$daemon/fd/2")" /dev/null
same "its session" "$(ps -o sid= -p "$daemon" | tr -d ' ')" "$daemon"

# a second one on the same place is refused, and the first goes on
"$ZARRFS" "$store" "$tmp/at" 2>"$tmp/said" && fail "mounted twice"
grep -q already "$tmp/said" || fail "it says '$(cat "$tmp/said")'"
[ -s "$tmp/at/lat" ] || fail "the first mount is gone"

kill -USR1 "$daemon"
kill -HUP "$daemon"
kill -USR2 "$daemon"
# shellcheck disable=SC2317 # by eventually
says()
{
	grep -q "zarrfs\[$daemon\]: .*$1" "$syslog"
}
if [ -n "$syslog" ]; then
	for text in "is mounted on" "log level is now debug" "looked at the store again: nothing changed"; do
		eventually 60 says "$text" || fail "the system log does not say '$text': $(cat "$syslog")"
	done
else
	sleep 0.3
fi
[ -s "$tmp/at/lat" ] || fail "SIGUSR1, SIGHUP or SIGUSR2 ended it"
kill -TERM "$daemon"
eventually 60 gone || fail "SIGTERM does not end it"
if [ -n "$syslog" ]; then
	eventually 60 says "ending the mount" || fail "the system log does not say that it ends: $(cat "$syslog")"
fi

# SIGTERM while a file is open and while a process has its working directory in the mount
background "$store"
tail -f "$tmp/at/sst" >/dev/null &
holder=$!
(cd "$tmp/at" && exec sleep 60) &
stander=$!
sleep 0.2
kill -INT "$daemon"
eventually 60 gone || fail "SIGINT does not end a mount that is in use"
kill $holder $stander

# umount by hand
background "$store"
unmount "$tmp/at"
eventually 60 gone || fail "umount does not end the daemon"

# shellcheck disable=SC2317 # eventually calls it
dead_mount()
{
	! ls "$tmp/at" >/dev/null 2>&1
}

# kill -9 leaves a dead mount; the next one replaces it and says so
for option in metadata_ttl=60 metadata_ttl=immutable; do
	background -o $option "$store"
	ls -l "$tmp/at" >/dev/null
	kill -9 "$daemon"
	eventually 60 ended "$daemon"
	eventually 60 dead_mount || fail "the mount lives on" # threads of it may end later
	timeout 30 "$ZARRFS" "$store" "$tmp/at" >"$tmp/said" 2>&1 || fail "a dead mount is in the way: $(cat "$tmp/said")"
	grep -q "replacing the dead mount" "$tmp/said" || fail "it says '$(cat "$tmp/said")'"
	same "mounts there" "$(grep -cF " $tmp/at " /proc/self/mountinfo)" 1
	[ -s "$tmp/at/lat" ] || fail "the new mount shows nothing"
	daemon=$(daemon_of "$tmp/at")
	unmount "$tmp/at"
	eventually 60 gone || fail "umount does not end the daemon"
done

# what fails is said here, not in the log
status=0
said=$("$ZARRFS" "$tmp/nothing" "$tmp/at" 2>&1) || status=$?
same "status without a store" $status 1
[[ $said == *nothing* ]] || fail "it says '$said'"
is_mounted "$tmp/at" && fail "mounted without a store"
# while the store does not answer: a signal ends it, and nothing is mounted later
touch "$tmp/broken"
for how in -f -ologlevel=info; do
	"$ZARRFS" $how "fault+file://$store#fault.kind=hang&fault.deaf=1&fault.calls=get,stat,list&fault.file=$tmp/broken" "$tmp/at" 2>"$tmp/said" &
	starting=$!
	sleep 0.5
	kill -TERM $starting
	eventually 60 ended $starting || fail "SIGTERM does not end 'zarrfs $how' that waits for its store"
	wait $starting && fail "and its status is 0"
done
rm "$tmp/broken"
sleep 1
is_mounted "$tmp/at" && fail "mounted after it was ended"
eventually 60 no_daemon || fail "a daemon is left: $(daemon_of "$tmp/at")"
exit $((failures != 0))

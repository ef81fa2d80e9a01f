#!/bin/bash
# /dev/fd/N as mount point: another program, which may mount, has done so and hands its descriptor of /dev/fuse over.
. "$(dirname "$0")/functions.sh"

[ -c /dev/fuse ] || skip "cannot mount: no /dev/fuse"
[ "$(id -u)" = 0 ] || skip "not root"
store=$tmp/store.zarr # by whose name its processes are found
at=$tmp/at
cp -r "$data/sample.zarr" "$store"
mkdir "$at"
mounts[$at]=

# mounter MNT COMMAND WORD...: mounts and becomes COMMAND; "@fd@" in its words is the descriptor's number
cat >"$tmp/mounter" <<'END'
import ctypes, os, sys
NOSUID, NODEV = 2, 4
fd = os.open("/dev/fuse", os.O_RDWR)
os.set_inheritable(fd, True)
if sys.argv[1] != "-":
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.mount(b"zarrfs", os.fsencode(sys.argv[1]), b"fuse.zarrfs", NOSUID | NODEV, b"fd=%d,rootmode=40000,user_id=0,group_id=0" % fd):
        sys.exit("mount: " + os.strerror(ctypes.get_errno()))
os.execv(sys.argv[2], [word.replace("@fd@", str(fd)) for word in sys.argv[2:]])
END

mounter()
{
	"$python" "$tmp/mounter" "$@"
}

bytes_of()
{
	(cd "$1" && sha256sum -c --quiet "$data/sample.sha256" 2>&1)
}

# shellcheck disable=SC2317 # by eventually
none_serves()
{
	[ -z "$(pgrep -f -- "^$ZARRFS .*$store")" ]
}

# dead: without a process that holds the descriptor every access fails, and none hangs
dead()
{
	eventually 60 none_serves || fail "the process of $1 does not end"
	same "an access after $1" "$(timeout 20 stat "$at" 2>&1 | grep -o 'not connected')" "not connected"
	umount "$at"
}

# in the foreground, until its mounter unmounts; apptainer puts -f last
mounter "$at" "$ZARRFS" "$store" /dev/fd/@fd@ -f 2>"$tmp/said" &
daemon=$! mnt=$at
eventually 60 mounted_or_ended
if ! is_mounted "$at"; then
	grep -q 'not permitted' "$tmp/said" && skip "$(cat "$tmp/said")"
	fail "it is not mounted: $(cat "$tmp/said")"
	exit 1
fi
same "bytes" "$(bytes_of "$at")" ""
{ : >"$at/lat"; } 2>"$tmp/why" && fail "it can be written"
grep -q 'Read-only' "$tmp/why" || fail "writing says '$(cat "$tmp/why")'"
umount "$at" || fail "it cannot be unmounted: $(cat "$tmp/said")"
wait $daemon || fail "it ended with status $?: $(cat "$tmp/said")"

# in the background, until a signal
mounter "$at" "$ZARRFS" "$store" /dev/fd/@fd@ 2>"$tmp/said" || fail "in the background: $(cat "$tmp/said")"
same "bytes in the background" "$(bytes_of "$at")" ""
kill "$(pgrep -f -- "^$ZARRFS .*$store")"
dead SIGTERM

# as long as a command
status=0
mounter "$at" "$ZARRFS" "$store" /dev/fd/@fd@ -- sh -c "sha256sum <$at/lat; ls -l /proc/self/fd | grep -c fuse >&2; exit 7" >"$tmp/sum" 2>"$tmp/said" || status=$?
same "the status" $status 7
same "descriptors that the command has" "$(cat "$tmp/said")" 0
same "bytes for a command" "$(cut -c1-64 "$tmp/sum")  lat" "$(grep ' lat$' "$data/sample.sha256")"
dead "the command"

# refused WHY WORD...
refused()
{
	local why=$1
	shift
	"$@" 2>"$tmp/said" && fail "'$*' is mounted"
	grep -q "$why" "$tmp/said" || fail "'$*' says '$(cat "$tmp/said")'"
}

for way in "" -f; do
	# shellcheck disable=SC2086 # none or one word
	refused "'/dev/fd/99' is no open descriptor" "$ZARRFS" $way "$store" /dev/fd/99
	# shellcheck disable=SC2086
	refused "'/dev/fd/3' is no open descriptor" "$ZARRFS" $way "$store" /dev/fd/3 3<"$data/sample.sha256"
	# shellcheck disable=SC2086
	refused 'not mounted' mounter - "$ZARRFS" $way "$store" /dev/fd/@fd@
done
exit $((failures != 0))

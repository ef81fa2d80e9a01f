#!/bin/bash
# A log that is not read (stderr is a full pipe) stops no mount, no open and no read; its lines come out when the pipe is read.
. "$(dirname "$0")/functions.sh"

[ -c /dev/fuse ] || skip "cannot mount: no /dev/fuse"
put_sample "$tmp/store.zarr"
printf 'no chunk' >"$tmp/store.zarr/lat/$(by_form 0 c/0)"
mkfifo "$tmp/pipe"
exec 9<>"$tmp/pipe" # neither end is ever closed
dd if=/dev/zero of="$tmp/pipe" bs=4096 count=10000 oflag=nonblock 2>/dev/null && fail "the pipe does not get full"

mnt=$tmp/mnt
mkdir "$mnt"
"$ZARRFS" -f "$tmp/store.zarr" "$mnt" 2>"$tmp/pipe" &
daemon=$!
mounts[$mnt]=$daemon
: >"$mnt.log"
eventually 60 mounted_or_ended
is_mounted "$mnt" || fail "not mounted while its log is not read"

# wants WHAT COMMAND...: it ends soon, well
wants()
{
	local what=$1
	shift
	timeout 60 "$@" >/dev/null 2>"$tmp/said" || fail "$what: status $?, $(cat "$tmp/said")"
}

# refused: each is said in a line of its own
refused()
{
	local file
	for file in lat lat.nc lat.csv lat.npy; do
		timeout 60 cat "$mnt/$file" >/dev/null 2>"$tmp/said" && fail "$file is data"
		grep -q 'Input/output error' "$tmp/said" || fail "reading $file: $(cat "$tmp/said")"
	done
}

refused
kill -HUP "$daemon"
for file in lon sst lon.nc; do
	wants "reading $file beside it" cat "$mnt/$file"
done
wants "a listing" ls -l "$mnt"
[ "$(timeout 60 cat "$mnt/.zarrfs/log" | grep -c "cannot read 'lat")" -ge 4 ] || fail "the mount's own log lacks the failures"

# the pipe is read again: all lines are there, the last one too
timeout 120 cat <"$tmp/pipe" >"$tmp/read" &
reader=$!
umount_store "$mnt"
# shellcheck disable=SC2317 # by eventually
all_said()
{
	grep -aq "cannot read 'lat.npy'" "$tmp/read"
}
eventually 60 all_said || fail "what was said does not come out: $(tr -d '\0' <"$tmp/read")"
kill $reader
grep -aq "is mounted on" "$tmp/read" || fail "the first line is lost"

# a daemon whose log is not read to the end exits all the same, with status 0
dd if=/dev/zero of="$tmp/pipe" bs=4096 count=10000 oflag=nonblock 2>/dev/null
"$ZARRFS" -f "$tmp/store.zarr" "$mnt" 2>"$tmp/pipe" &
daemon=$!
mounts[$mnt]=$daemon
eventually 60 mounted_or_ended
refused
umount_store "$mnt"

# a start that fails says so through a pipe with a slow reader
said=$("$ZARRFS" -f "$tmp/nothing" "$mnt" 2>&1 | (sleep 0.3 && cat))
[[ $said == *nothing* ]] || fail "a failing start says '$said'"

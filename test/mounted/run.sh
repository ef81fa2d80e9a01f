#!/bin/bash
# zarrfs STORE MOUNTPOINT -- COMMAND: the command sees the mount, its status comes back, and nothing is left behind.
. "$(dirname "$0")/functions.sh"

[ -c /dev/fuse ] || skip "cannot mount: no /dev/fuse"
store=$data/sample.zarr
at=$tmp/at
mkdir "$at"

# shellcheck disable=SC2317 # by eventually
no_daemon()
{
	! pgrep -f -- "$ZARRFS .*$at" >/dev/null
}

# nothing_left WHEN
nothing_left()
{
	is_mounted "$at" && fail "still mounted $1"
	eventually 60 no_daemon || fail "a daemon is left $1: $(pgrep -af -- "$at")"
}

# shellcheck disable=SC2317 # by eventually
not_mounted()
{
	! is_mounted "$at"
}

# runs WANTED-STATUS COMMAND...
runs()
{
	local want=$1 status=0
	shift
	timeout 60 "$ZARRFS" "$store" "$at" -- "$@" >"$tmp/out" 2>"$tmp/err" </dev/null || status=$?
	same "status of '$*'" $status "$want"
	nothing_left "after '$*'"
}

runs 0 sha256sum "$at/lat"
same "what the command read" "$(cut -c1-64 "$tmp/out")  lat" "$(grep ' lat$' "$data/sample.sha256")"
same "what else is said" "$(cat "$tmp/err")" ""
runs 0 true
runs 1 false
runs 42 sh -c 'exit 42'
runs 143 sh -c 'kill -TERM $$'
runs 137 sh -c 'kill -KILL $$'
runs 127 "$tmp/no-such-command"
grep -q no-such-command "$tmp/err" || fail "it says '$(cat "$tmp/err")'"
runs 126 "$data/sample.sha256"
runs 0 sh -c "exec sleep 30 <$at/sst & :" # something of it still runs and holds a file
# shellcheck disable=SC2016
runs 0 sh -c 'test "$1" = -- && test "$2" = -o' sh -- -o

# the store is refused: the command does not run
status=0
"$ZARRFS" "$tmp/nothing.zarr" "$at" -- touch "$tmp/ran" 2>"$tmp/err" || status=$?
same "status without a store" $status 1
[ -e "$tmp/ran" ] && fail "the command ran without a mount"
nothing_left "without a store"

# a signal to zarrfs is for the command
# shellcheck disable=SC2016
"$ZARRFS" "$store" "$at" -- sh -c 'trap "kill \$!; exit 9" TERM; sleep 30 & echo ready; wait' >"$tmp/out" &
runner=$!
eventually 60 grep -q ready "$tmp/out" || fail "the command does not start"
kill -TERM $runner
status=0
wait $runner || status=$?
same "status after SIGTERM" $status 9
nothing_left "after SIGTERM"

# zarrfs itself is killed: the mount ends with it
"$ZARRFS" "$store" "$at" -- sh -c 'echo ready; exec sleep 5' >"$tmp/out" &
runner=$!
eventually 60 grep -q ready "$tmp/out" || fail "the command does not start"
kill -9 $runner
wait $runner 2>/dev/null
eventually 60 not_mounted || fail "still mounted after kill -9 of zarrfs"
exit $((failures != 0))

#!/bin/bash
# -o userns: a user who may not mount mounts for a command, and no other process sees it.
. "$(dirname "$0")/functions.sh"

[ -c /dev/fuse ] || skip "cannot mount: no /dev/fuse"
[ "$(id -u)" = 0 ] || skip "not root, who can give up rights"
needs setpriv unshare
store=$data/sample.zarr
at=$tmp/at
mkdir "$at"

# without_rights COMMAND...: as a user who may not mount, but may open /dev/fuse and be user 0 of a namespace
without_rights()
{
	setpriv --bounding-set=-all,+setfcap --inh-caps=-all -- "$@"
}

without_rights unshare --user --map-root-user --mount true 2>/dev/null || skip "no user namespaces here"
without_rights mount -t tmpfs none "$at" 2>/dev/null && { umount "$at"; skip "rights cannot be given up here"; }

cat >"$tmp/command" <<'END'
sha256sum <"$1/lat"
stat -c %u "$1/lat"
grep -cF " $1 " /proc/self/mountinfo
touch "$2/reading"
until [ -e "$2/seen" ]; do sleep 0.05; done
exit 7
END
without_rights "$ZARRFS" -o userns "$store" "$at" -- sh "$tmp/command" "$at" "$tmp" >"$tmp/said" 2>"$tmp/error" &
daemon=$!
# shellcheck disable=SC2317 # by eventually
reading_or_ended()
{
	[ -e "$tmp/reading" ] || ended "$daemon"
}
eventually 60 reading_or_ended || fail "the command does not begin"
is_mounted "$at" && fail "others see the mount"
touch "$tmp/seen"
status=0
wait "$daemon" || status=$?
if grep -q 'this system may forbid it\|not permitted' "$tmp/error"; then
	skip "$(cat "$tmp/error")"
fi
same "status" $status 7
same "what else is said" "$(cat "$tmp/error")" ""
same "bytes, owner and mounts" "$(sed 's/ *-$//' "$tmp/said" | xargs)" "$(sed -n 's/  lat$//p' "$data/sample.sha256") 0 1"
"$ZARRFS" -o userns "$store" "$at" 2>"$tmp/error" && fail "it mounts without a command"
grep -q "wants a command" "$tmp/error" || fail "without a command it says '$(cat "$tmp/error")'"
exit $((failures != 0))

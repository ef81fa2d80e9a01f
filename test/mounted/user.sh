#!/bin/bash
# A user who is not root: fusermount3 mounts, others are kept out, allow_other needs /etc/fuse.conf.
. "$(dirname "$0")/functions.sh"

[ -c /dev/fuse ] || skip "cannot mount: no /dev/fuse"
needs fusermount3 setpriv
[ -u "$(command -v fusermount3)" ] || skip "fusermount3 is not setuid"
[ "$(id -u)" = 0 ] || skip "not root, who can be any user"
[ -e /etc/mtab ] || skip "no /etc/mtab, by which fusermount3 unmounts"
[ "$(stat -c %a /dev/fuse)" = 666 ] || skip "/dev/fuse is for root"

user=65534
at=$tmp/at
cp -r "$data/sample.zarr" "$tmp/store.zarr"
cp "$ZARRFS" "$tmp/zarrfs"
mkdir "$at"
chown $user "$at"
chmod 755 "$tmp"
cd "$tmp" || exit 1

as_user()
{
	setpriv --reuid=$user --regid=$user --clear-groups -- "$@"
}

# the process that serves this test's mount
its_daemon()
{
	pgrep -u $user -f "^$tmp/zarrfs "
}

# shellcheck disable=SC2317 # by eventually
no_daemon()
{
	[ -z "$(its_daemon)" ]
}

if ! as_user "$tmp/zarrfs" "$tmp/store.zarr" "$at" 2>"$tmp/said"; then
	grep -q "not permitted" "$tmp/said" && skip "users cannot mount here: $(cat "$tmp/said")"
	fail "a user cannot mount: $(cat "$tmp/said")"
	exit 1
fi
as_user cat "$at/lat" >"$tmp/lat" 2>/dev/null || fail "the user cannot read"
same "bytes" "$(sha256sum <"$tmp/lat" | cut -c1-64)  lat" "$(grep ' lat$' "$data/sample.sha256")"
same "owner" "$(as_user stat -c '%u %g' "$at/lat")" "$user $user"
as_user cat "$at/.zarrfs/stats" >/dev/null || fail "the user cannot read .zarrfs"
setpriv --reuid=65533 --regid=65533 --clear-groups cat "$at/lat" >/dev/null 2>&1 && fail "another user can read"
as_user "$tmp/zarrfs" "$tmp/store.zarr" "$at" -- true 2>/dev/null && fail "mounted twice"

# dead, and replaced by its user
kill -9 "$(its_daemon)" || fail "no daemon of that user"
eventually 60 no_daemon
as_user "$tmp/zarrfs" "$tmp/store.zarr" "$at" 2>"$tmp/said" || fail "the dead mount is in the way: $(cat "$tmp/said")"
grep -q "replacing the dead mount" "$tmp/said" || fail "it says '$(cat "$tmp/said")'"
as_user fusermount3 -u "$at" || fail "the user cannot unmount"
eventually 60 no_daemon || fail "the daemon does not end"

status=0
as_user "$tmp/zarrfs" "$tmp/store.zarr" "$at" -- cat "$at/lat" >"$tmp/lat" 2>"$tmp/said" || status=$?
same "status of a command" $status 0
same "bytes seen by a command" "$(sha256sum <"$tmp/lat" | cut -c1-64)  lat" "$(grep ' lat$' "$data/sample.sha256")"
is_mounted "$at" && fail "still mounted after the command"

# installed setuid it gives these rights up, and fusermount3 mounts
cp "$ZARRFS" "$tmp/setuid"
chmod 6755 "$tmp/setuid"
as_user "$tmp/setuid" "$tmp/store.zarr" "$at" -- cat "$at/lat" >"$tmp/lat" 2>"$tmp/said" || fail "setuid, it does not mount: $(cat "$tmp/said")"
same "bytes by a setuid program" "$(sha256sum <"$tmp/lat" | cut -c1-64)  lat" "$(grep ' lat$' "$data/sample.sha256")"

if ! grep -qx '[[:space:]]*user_allow_other[[:space:]]*' /etc/fuse.conf 2>/dev/null && [ -r /etc/fuse.conf ]; then
	as_user "$tmp/zarrfs" -o allow_other "$tmp/store.zarr" "$at" 2>"$tmp/said" && fail "allow_other without leave"
	grep -q "user_allow_other" "$tmp/said" || fail "it says '$(cat "$tmp/said")'"
	same "lines said" "$(wc -l <"$tmp/said")" 1
fi
is_mounted "$at" && fusermount3 -uz "$at"
exit $((failures != 0))

#!/bin/bash
# Another store comes to be at the path that is mounted, with metadata and files as old as it likes: no chunk of it is decoded as one of
# the first.
. "$(dirname "$0")/functions.sh"

# try_way WAY PATH: mounts the path below a new folder, and reads while it is exchanged
try_way()
{
	local folder=$tmp/$1
	"$python" "$here/exchanged.py" make "$folder" || exit 1
	sleep 1.5 # all is older than what is known of it will be
	if [ "$1" = bind ] && ! mount --bind "$folder/v1" "$folder/bound" 2>/dev/null; then
		return # not root, or not allowed here
	fi
	must_mount "$folder/$2"
	"$python" "$here/exchanged.py" check "$folder" "$mnt" "$1" || fail "$1: see above"
	umount_store
	if [ "$1" = bind ]; then
		umount "$folder/bound" "$folder/bound"
	fi
}

try_way link cur
try_way above above/cur
try_way rename v1
try_way bind bound
if mount --bind "$tmp/bind/bound" "$tmp/bind/bound" 2>/dev/null; then
	umount "$tmp/bind/bound"
	try_way arrays v1
	umount "$tmp/arrays/v1/a"*
fi

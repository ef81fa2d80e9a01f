#!/bin/bash
# mount(8) with its helpers: types zarrfs and fuse.zarrfs, options of fstab, and a line in fstab itself.
. "$(dirname "$0")/functions.sh"

[ -c /dev/fuse ] || skip "cannot mount: no /dev/fuse"
[ "$(id -u)" = 0 ] || skip "not root"
needs mount unshare
unshare -m true 2>/dev/null || skip "no mount namespaces here"
store=$data/sample.zarr
at=$tmp/at
mkdir "$at"

# In a mount namespace of its own, with our helpers and our fstab laid over the system's.
cat >"$tmp/inside" <<'END'
set -e
mkdir "$tmp/sbin" "$tmp/upper" "$tmp/work" 2>/dev/null || :
mount --make-rprivate /
mount -t tmpfs tmpfs "$tmp/work"
mkdir "$tmp/work/upper" "$tmp/work/work"
mount -t overlay overlay -o "lowerdir=$(readlink -f /sbin),upperdir=$tmp/work/upper,workdir=$tmp/work/work" "$(readlink -f /sbin)"
ln -sf "$(readlink -f "$ZARRFS")" /sbin/mount.zarrfs
ln -sf "$(readlink -f "$ZARRFS")" /sbin/mount.fuse.zarrfs
printf '%s %s zarrfs ro,noauto,user,_netdev,nofail,x-systemd.automount,comment=test,endian=little 0 0\n' "$store" "$at" >"$tmp/fstab"
mount --bind "$tmp/fstab" /etc/fstab

show()
{
	awk -v at="$at" '$2 == at { print $3, $4 }' /proc/self/mounts
}

check()
{
	[ -s "$at/lat" ] || { echo "$1: nothing is mounted" >&2; exit 1; }
	case $(show) in
	"fuse.zarrfs ro,"*) ;;
	*) echo "$1: mounted as '$(show)'" >&2; exit 1 ;;
	esac
	umount "$at"
}

mount -t zarrfs "$store" "$at"
check "mount -t zarrfs"
mount -t fuse.zarrfs "$store" "$at" -o ro,memory=64M,nofail,_netdev
check "mount -t fuse.zarrfs"
mount "$at"
check "mount from fstab"
mount -a
[ -z "$(show)" ] || { echo "mount -a mounted a noauto line" >&2; exit 1; }
mount -f -t zarrfs "$store" "$at"
[ -z "$(show)" ] || { echo "mount -f mounted" >&2; exit 1; }
if mount -t zarrfs "$store" "$at" -o nonsense 2>"$tmp/said"; then
	echo "a wrong option is taken" >&2
	exit 1
fi
grep -q "unknown option 'nonsense'" "$tmp/said"
END
export tmp store at ZARRFS
unshare -m bash "$tmp/inside" 2>"$tmp/error"
status=$?
if grep -q 'overlay.*\(wrong fs type\|unknown filesystem\|denied\|not permitted\)' "$tmp/error"; then
	cat "$tmp/error"
	skip "no overlay file system"
fi
[ $status = 0 ] || fail "status $status: $(cat "$tmp/error")"
exit $((failures != 0))

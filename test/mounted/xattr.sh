#!/bin/bash
# Extended attributes: sizes are asked for, lists and values fit together, what is not there is not there.
. "$(dirname "$0")/functions.sh"

must_mount "$data/sample.zarr"
"$python" - "$mnt" <<'END' || fail "see above"
import ctypes, errno, os, sys
libc = ctypes.CDLL(None, use_errno=True)
mnt = sys.argv[1]
bad = 0

def check(what, got, want):
    global bad
    if got != want:
        bad += 1
        print("%s is %r, not %r" % (what, got, want), file=sys.stderr)

def get(path, name, size):
    value = ctypes.create_string_buffer(max(size, 1))
    n = libc.getxattr(path.encode(), name.encode(), value if size else None, ctypes.c_size_t(size))
    return value.raw[:n] if n >= 0 and size else n if n >= 0 else -ctypes.get_errno()

sst = os.path.join(mnt, "sst")
names = os.listxattr(sst)
check("names twice", len(names), len(set(names)))
for name in ["shape", "dims", "dtype", "chunks", "codecs", "format", "key"]:
    check("user.zarrfs.%s is listed" % name, "user.zarrfs." + name in names, True)
for name in names:
    value = os.getxattr(sst, name)
    check("size of " + name, get(sst, name, 0), len(value))
    check(name + " at its size", get(sst, name, len(value)), value)
    if len(value) > 1:
        check(name + " one byte short", get(sst, name, len(value) - 1), -errno.ERANGE)
size = libc.listxattr(sst.encode(), None, ctypes.c_size_t(0))
check("size of the list", size, sum(len(n.encode()) + 1 for n in names))
short = ctypes.create_string_buffer(size)
check("a list one byte short", (libc.listxattr(sst.encode(), short, ctypes.c_size_t(size - 1)), ctypes.get_errno()), (-1, errno.ERANGE))
check("user.units", os.getxattr(sst, "user.units"), b"degree_Celsius")
for name in ["user.nothing", "user."]:
    check(name, get(sst, name, 100), -errno.ENODATA)
# what ls -l asks of every file, unless told once that there is no such thing on the device
for name in ["security.selinux", "system.posix_acl_access", "trusted.x"]:
    check(name, get(sst, name, 100), -errno.EOPNOTSUPP)
for change in [lambda: os.setxattr(sst, "user.units", b"K"), lambda: os.removexattr(sst, "user.units")]:
    try:
        change()
        check("a change", "done", "refused")
    except OSError as error:
        check("a change", error.errno, errno.EROFS)
check("user.missing_value, in the variable's type", os.getxattr(sst, "user.missing_value"), b"-1.e+34f")

def all_of(path):
    return {name: os.getxattr(os.path.join(mnt, path), name) for name in os.listxattr(os.path.join(mnt, path))}

for suffix in [".nc", ".csv", ".npy", ".cdf5.nc"]:
    check("attributes of sst" + suffix, all_of("sst" + suffix), all_of("sst"))
for name in ["dataset.nc", "dataset.cdl"]:
    got = all_of("wind/" + name)
    check("key of " + name, got.pop("user.zarrfs.key"), b"wind")
    check("attributes of " + name, got, all_of("wind"))
os.listxattr(mnt)
os.listxattr(os.path.join(mnt, ".zarrfs/stats"))
sys.exit(bad != 0)
END

# getfattr -d reads like ncdump -h: the same names and values
if command -v getfattr >/dev/null && command -v ncdump >/dev/null; then
	for name in sst time wind/u; do
		[ -e "$mnt/$name" ] || continue
		var=${name##*/}
		getfattr -d -m '^user\.' "$mnt/$name" 2>/dev/null | sed -n '/^user\.zarrfs\./d; s/^user\.\([^=]*\)="\(.*\)"$/\1 = \2/p' | sort >"$tmp/getfattr"
		ncdump -h "$mnt/$name.nc" | sed -n "s/^\t\t$var:\([^ ]*\) = \"*\([^\"]*\)\"* ;\$/\1 = \2/p" | sort >"$tmp/ncdump"
		[ -s "$tmp/ncdump" ] || fail "ncdump -h of '$name.nc' shows no attributes"
		diff "$tmp/getfattr" "$tmp/ncdump" || fail "getfattr -d of '$name' reads unlike ncdump -h"
	done
fi
exit $((failures != 0))

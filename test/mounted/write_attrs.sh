#!/bin/bash
# Attributes that are written: setfattr and what zarr-python, getfattr and ncdump then read; what may not be changed.
. "$(dirname "$0")/functions.sh"

needs setfattr getfattr ncdump
"$python" -c 'import zarr' 2>/dev/null || skip "no zarr-python"
cp -r "$data/sample.zarr" "$tmp/s.zarr"
must_mount "$tmp/s.zarr" rw
cd "$mnt" || exit 1

# value NAME FILE: as getfattr shows it
value()
{
	getfattr --only-values -n "user.$1" "$2" 2>/dev/null
}

# stored NAME PATH: as zarr-python reads it
stored()
{
	"$python" -c 'import sys, zarr; g = zarr.open(sys.argv[1], "r"); print(repr((g[sys.argv[3]] if sys.argv[3] else g).attrs.get(sys.argv[2])))' "$tmp/s.zarr" "$1" "$2"
}

setfattr -n user.units -v K sst || fail "setfattr"
same "units" "$(value units sst)" K
same "units of the other file" "$(value units sst.nc)" K
same "units as ncdump has them" "$(ncdump -h sst.nc | sed -n 's/.*sst:units = //p')" '"K" ;'
same "units as stored" "$(stored units sst)" "'K'"
setfattr -n user.units -v '°C 😀' sst || fail "setfattr beyond ASCII"
same "units beyond ASCII" "$(value units sst)" '°C 😀'
same "units beyond ASCII as stored" "$(stored units sst)" "'°C 😀'"
setfattr -n user.größe -v 'ä' sst || fail "setfattr of a name beyond ASCII"
same "a name beyond ASCII" "$(value größe sst)" 'ä'
same "a name beyond ASCII as stored" "$(stored größe sst)" "'ä'"
setfattr -x user.größe sst || fail "setfattr -x of a name beyond ASCII"
setfattr -n user.units -v K sst || fail "setfattr"
setfattr -n user.valid_range -v '-2.5f, 40.f' sst || fail "setfattr of numbers"
same "numbers" "$(value valid_range sst)" "-2.5f, 40.f"
same "numbers as stored" "$(stored valid_range sst)" "[-2.5, 40.0]"
setfattr -n user.level -v 7 sst.nc || fail "setfattr of a netCDF file"
same "a whole number as stored" "$(stored level sst)" 7
setfattr -n user.note -v 'three words, a comma' sst
same "text as stored" "$(stored note sst)" "'three words, a comma'"
setfattr -n user.long_name -v 12 sst # was text
same "text stays text" "$(stored long_name sst)" "'12'"
setfattr -x user.note sst || fail "setfattr -x"
same "removed" "$(stored note sst)" None
setfattr -x user.note sst 2>/dev/null && fail "what is not there was removed"
setfattr -n user.title -v 'a climatology' . || fail "setfattr of the root"
same "of a group as stored" "$(stored title '')" "'a climatology'"
same "of a group in dataset.nc" "$(ncdump -h dataset.nc | sed -n 's/.*:title = //p')" '"a climatology" ;'
for name in user.zarrfs.shape user._ARRAY_DIMENSIONS trusted.x; do
	setfattr -n $name -v 1 sst 2>/dev/null && fail "$name can be set"
done
"$python" - <<'END' || fail "flags of setxattr"
import os

def code(*a):
    try:
        os.setxattr("sst", *a)
    except OSError as e:
        return e.strerror
    return 0

got = code("user.units", b"m", os.XATTR_CREATE), code("user.none", b"m", os.XATTR_REPLACE), code("user.units", b"C", os.XATTR_REPLACE)
assert got == ("File exists", "No data available", 0), got
END
same "units replaced" "$(value units sst)" C

# what programs set of every file, and what they find
if ! chmod 600 sst || ! touch sst || ! chown "$(id -u)" sst; then
	fail "chmod, touch or chown"
fi
same "modes" "$(stat -c %a sst sst.csv . .zarrfs | tr '\n' ' ')" "644 444 755 500 "
for name in sst.csv sst.npy sst.nc4 .store/.zattrs; do
	"$python" -c 'import os, sys; os.open(sys.argv[1], os.O_WRONLY)' $name 2>/dev/null && fail "$name can be written"
done
same "what is not lossy" "$(value zarrfs.lossy sst)" ""
cd / && umount_store

# codecs that do not give back what is written
"$python" - "$tmp/s.zarr" <<'END'
import sys
import numcodecs
import zarr
g = zarr.open_group(sys.argv[1], mode="r+")
g.create_dataset("rough", shape=(4,), chunks=(4,), dtype="<f4", filters=[numcodecs.Quantize(2, "<f4")])
END
must_mount "$tmp/s.zarr" rw
same "what is lossy" "$(value zarrfs.lossy "$mnt/rough")" quantize
getfattr -d "$mnt/rough" 2>/dev/null | grep -q lossy || fail "user.zarrfs.lossy is not listed"
umount_store

# what marks a missing time in the file is NaT, whatever the fill value is
if command -v ncatted >/dev/null; then
	"$python" - "$tmp/times.zarr" <<'END'
import sys
import numpy
import zarr
t = zarr.open_group(sys.argv[1], mode="w").create_dataset("t", data=numpy.array([1, 2], "M8[D]"), fill_value=0)
t.attrs["_ARRAY_DIMENSIONS"] = ["x"]
END
	cp "$tmp/times.zarr/t/.zarray" "$tmp/zarray"
	must_mount "$tmp/times.zarr" rw
	ncatted -h -a _FillValue,t,d,, "$mnt/t.nc" 2>/dev/null # it does not look whether its file could be closed
	grep -q "'_FillValue' of 't' follows" "$mnt/.zarrfs/log" || fail "not logged: $(cat "$mnt/.zarrfs/log")"
	cmp "$tmp/zarray" "$tmp/times.zarr/t/.zarray" || fail "the fill value has changed"
	cat "$mnt/.zarrfs/refresh" >/dev/null
	umount_store
fi

# read-only is what is mounted without rw
must_mount "$tmp/s.zarr"
setfattr -n user.units -v m "$mnt/sst" 2>/dev/null && fail "a read-only mount has a new attribute"
same "modes of a read-only mount" "$(stat -c %a "$mnt/sst" "$mnt" | tr '\n' ' ')" "444 555 "

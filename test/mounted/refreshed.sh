#!/bin/bash
# What changes in the store shows after the TTL, at once after `refresh` or SIGHUP, and never with `immutable`.
. "$(dirname "$0")/functions.sh"

put_sample "$tmp/store.zarr"

# add NAME: another array in the store
add()
{
	cp -r "$tmp/store.zarr/lat" "$tmp/store.zarr/$1"
}

"$python" - "$tmp/store.zarr" <<'END' || exit 1
import sys
import numpy as np
import stores
stores.put(sys.argv[1], "wind/first", np.zeros(50), chunks=(2,), compressor=None, fill_value=0, write_empty_chunks=False)
END
must_mount "$tmp/store.zarr" endian=little,metadata_ttl=3600
ls "$mnt" >/dev/null
cat "$mnt/first" 2>/dev/null && fail "what is not there can be read"
add first
cat "$mnt/.zarrfs/refresh" >/dev/null || fail "refresh cannot be read"
eventually 60 test -f "$mnt/first" || fail "a new array does not show after refresh"
same "bytes of the new array" "$(sha256sum <"$mnt/first" | cut -c1-64)  lat" "$(grep ' lat$' "$data/sample.sha256")"
add second
ls "$mnt" >/dev/null
kill -HUP "$daemon"
eventually 60 test -f "$mnt/second" || fail "a new array does not show after SIGHUP"
before=$(getfattr --absolute-names --only-values -n user.units "$mnt/lat")
same "units before" "$before" degrees_north
sed -i 's/degrees_north/degrees_south/' "$tmp/store.zarr/lat/$(by_form .zattrs zarr.json)"
cat "$mnt/.zarrfs/refresh" >"$tmp/said"
grep -q lat "$tmp/said" || fail "refresh does not say what changed: '$(cat "$tmp/said")'"
same "units after refresh" "$(getfattr --absolute-names --only-values -n user.units "$mnt/lat")" degrees_south
# sizes of the files of an array that grew, without an open of them
grown()
{
	[ "$(stat -c %s "$mnt/wind/first")" = 8000 ] && [ "$(stat -c %s "$mnt/wind/first.npy")" = 12096 ] && [ "$(stat -c %s "$mnt/wind/first.csv")" -gt 16000 ]
}
stat "$mnt/wind/first" "$mnt/wind/first.npy" "$mnt/wind/first.csv" >/dev/null || fail "a file of the new array is not there"
sed -i 's/50/1000/' "$tmp/store.zarr/wind/first/$(by_form .zarray zarr.json)"
cat "$mnt/.zarrfs/refresh" >/dev/null
eventually 60 grown || fail "sizes of an array that grew, after refresh, are $(cd "$mnt/wind" && stat -c '%n %s' first first.npy first.csv)"
rm -r "$tmp/store.zarr/second"
cat "$mnt/.zarrfs/refresh" >/dev/null
eventually 60 test ! -e "$mnt/second" || fail "an array that was removed still shows after refresh"
umount_store

must_mount "$tmp/store.zarr" metadata_ttl=1
ls "$mnt" >/dev/null
test -e "$mnt/third" && fail "what is not there has a name"
add third
eventually 60 test -f "$mnt/third" || fail "a new array does not show after the TTL"
ls "$mnt" | grep -qx third || fail "ls does not list it"
umount_store

# a program that has only a mapping asks the mount for nothing as long as the kernel has its pages
cat >"$tmp/mapped.py" <<'END'
import mmap, os, sys, time
import numpy as np
import stores
store, mount, key = sys.argv[1:]
with open(mount + "/mapped", "rb") as file:
    memory = mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ)
before = memory[:]
stores.put(store + ".new", "mapped", np.arange(100.0) + 1, chunks=(50,), compressor=None)
os.replace(store + ".new/mapped/" + key, store + "/mapped/" + key)
end = time.monotonic() + 90
while memory[:] == before:
    time.sleep(0.2)
    if time.monotonic() > end:
        sys.exit("still the old pages")
END
"$python" -c 'import sys, numpy, stores; stores.put(sys.argv[1], "mapped", numpy.arange(100.0), chunks=(50,), compressor=None)' "$tmp/store.zarr" || exit 1
must_mount "$tmp/store.zarr" metadata_ttl=2
"$python" "$tmp/mapped.py" "$tmp/store.zarr" "$mnt" "$(by_form 0 c/0)" || fail "a mapping does not show what changed"
umount_store

must_mount "$tmp/store.zarr" metadata_ttl=immutable
same "units before" "$(getfattr --absolute-names --only-values -n user.units "$mnt/lon")" degrees_east
sed -i 's/degrees_east/degrees_west/' "$tmp/store.zarr/lon/$(by_form .zattrs zarr.json)"
sleep 1.5
same "units of an immutable store" "$(getfattr --absolute-names --only-values -n user.units "$mnt/lon")" degrees_east

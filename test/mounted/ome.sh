#!/bin/bash
# NGFF images: axes name dimensions, scale and translation of each level make coordinates, in all files alike, which cannot be written; 0.4 in a directory, 0.5 in
# an .ozx file.
. "$(dirname "$0")/functions.sh"
needs ncdump getfattr

"$python" "$here/ome.py" "$tmp" || exit 1
must_mount "$tmp/old.zarr"
ncdump "$mnt/image/1.nc" >"$tmp/cdl" || fail "ncdump"
same "dimensions" "$(grep -c 'short \\1(t, c, y, x)\|short _1(t, c, y, x)\|short 1(t, c, y, x)' "$tmp/cdl")" 1
grep -q 'x:units = "micrometer" ;' "$tmp/cdl" || fail "units: $(cat "$tmp/cdl")"
grep -q 'x:axis = "X" ;' "$tmp/cdl" || fail "axis: $(cat "$tmp/cdl")"
grep -q '^ x = 0.25, 1.25, 2.25, 3.25 ;' "$tmp/cdl" || fail "places along x: $(cat "$tmp/cdl")"
grep -q '^ y = 10.5, 11.5 ;' "$tmp/cdl" || fail "places along y: $(cat "$tmp/cdl")"
grep -q '^ t = 0, 2.5, 5 ;' "$tmp/cdl" || fail "times: $(cat "$tmp/cdl")"
grep -q '	double c(c)' "$tmp/cdl" && fail "channels have places"
grep -q 'x:units = "the store has it"' <(ncdump -h "$mnt/named/0.nc") || fail "a coordinate of the store's own: $(ncdump -h "$mnt/named/0.nc")"
same "the dimensions' names" "$(getfattr --only-values -n user.zarrfs.dims "$mnt/image/0" 2>/dev/null)" "t, c, y, x"
same "sizes of dataset.nc" "$(ncdump -h "$mnt/image/dataset.nc" | grep -c 'double [xy][_0-9]*(')" 4
diff <(sed 1d "$mnt/image/dataset.cdl") <(ncdump -h "$mnt/image/dataset.nc4" | sed 1d) || fail "dataset.cdl has other places"
diff <(sed 1d "$mnt/named/dataset.cdl") <(ncdump -h "$mnt/named/dataset.nc4" | sed 1d) || fail "dataset.cdl of a store with coordinates"
same "places in a CSV" "$(sed -n '1p;20p' "$mnt/image/1.csv" | tr -d ' ' | xargs)" "n,t,c,y,x,1 18,2.5,0,10.5,2.25,18"
"$python" "$here/ome.py" compare "$mnt/image/0.nc" "$mnt/image/0.nc4" || fail "netCDF-4 has other places"
umount_store

must_mount "$tmp/old.zarr" rw
"$python" "$here/ome.py" write "$mnt/image/1.nc" "$tmp/old.zarr/image/1/0/0/0/0" || fail "writing"
grep -q "given up: 'image/1.nc'" "$mnt/.zarrfs/refresh" || fail "refresh does not name what was refused"
"$python" "$here/ome.py" anew "$mnt/image/1.nc" || fail "writing anew"
eventually 60 grep -q "given up: 'image/1.nc'" "$mnt/.zarrfs/refresh" || fail "refresh does not name the file of other places"
umount_store

must_mount "$tmp/new.ozx"
ncdump -v z "$mnt/0.nc" >"$tmp/cdl" || fail "ncdump of .ozx"
grep -q '^ z = 100, 100.3, 100.6 ;' "$tmp/cdl" || fail "places along z: $(cat "$tmp/cdl")"
grep -q 'z:units = "nanometer"' "$tmp/cdl" || fail "units: $(cat "$tmp/cdl")"
umount_store
exit $((failures != 0))

#!/bin/bash
# ncrename of variables, dimensions and attributes, in each dialect and kind of store; what ncks leaves out goes with allow_delete, and stays without.
. "$(dirname "$0")/functions.sh"
. "$here/s3_functions.sh"
needs ncrename ncks ncgen ncdump

# forgotten FILE: what was refused of it is, once; the kernel may close a file a moment after the program that had it open
forgotten()
{
	cat "$mnt/.zarrfs/refresh" >"$tmp/said"
	dd if=/dev/null of="$1" conv=notrunc status=none 2>"$tmp/said"
}

cat >"$tmp/x.cdl" <<'END'
netcdf x { dimensions: y = 2; x = 3; variables: float t(y, x); t:units = "K"; short u(y, x); u:long_name = "wind"; float y(y);
data: t = 1, 2, 3, 4, 5, 6; u = 7, 8, 9, 10, 11, 12; y = 0, 1; }
END
ncgen -o "$tmp/x.nc" "$tmp/x.cdl" || fail "ncgen"
names()
{
	(cd "$mnt" && echo [a-z]*)
}
# keys ARRAY: of its chunks
keys()
{
	find "$s/$1" -type f ! -name '.z*' ! -name zarr.json | sed "s|$s/$1/||" | sort
}

for kind in nczarr zarr v3; do
	s=$tmp/$kind.zarr
	"$ZARRFS" --create "file://$s#mode=$kind" || fail "no store of $kind"
	must_mount "$s" rw
	cp "$tmp/x.nc" "$mnt/dataset.nc" || fail "cp"
	stored=$(keys t)
	cp -r "$s/t" "$s/temperature" && rm -f "$s/temperature/"{.z*,zarr.json} # as the daemon's death in the midst of that leaves it
	cat "$mnt/.zarrfs/refresh" >"$tmp/said"
	ncrename -h -v t,temperature -a u@long_name,title "$mnt/dataset.nc" >"$tmp/said" 2>&1 || fail "$kind: ncrename: $(cat "$tmp/said" "$mnt/.zarrfs/log")"
	same "variables, $kind" "$(names)" "temperature temperature.nc u u.nc y"
	same "t, $kind" "$(od -An -tf4 "$mnt/temperature" | tr -s ' \n' ' ')" " 1 2 3 4 5 6 "
	same "units, $kind" "$(getfattr --only-values -n user.units "$mnt/temperature" 2>/dev/null)" K
	same "title, $kind" "$(getfattr --only-values -n user.title "$mnt/u" 2>/dev/null)" wind
	same "keys, $kind" "$(keys temperature)" "$stored"
	[ ! -e "$s/t" ] || fail "$kind: t is in the store still"
	ncrename -h -v temperature,t "$mnt/temperature.nc" >"$tmp/said" 2>&1 || fail "$kind: ncrename of its own file: $(cat "$tmp/said" "$mnt/.zarrfs/log")"
	same "variables again, $kind" "$(names)" "t t.nc u u.nc y"
	# in a row, each the name of the next one, which is of another type; and back
	ncrename -h -v t,v -v u,t -v y,u "$mnt/dataset.nc" >"$tmp/said" 2>&1 || fail "$kind: ncrename in a row: $(cat "$tmp/said" "$mnt/.zarrfs/log")"
	same "variables in a row, $kind" "$(names) $(ls "$s" | grep -v zarr.json | xargs)" "t t.nc u u.nc v v.nc t u v"
	same "v in a row, $kind" "$(od -An -tf4 "$mnt/v" | tr -s ' \n' ' ')" " 1 2 3 4 5 6 "
	same "t in a row, $kind" "$(od -An -td2 "$mnt/t" | tr -s ' \n' ' ')" " 7 8 9 10 11 12 "
	same "title in a row, $kind" "$(getfattr --only-values -n user.title "$mnt/t" 2>/dev/null)" wind
	ncrename -h -v u,y -v t,u -v v,t "$mnt/dataset.nc" >"$tmp/said" 2>&1 || fail "$kind: ncrename back: $(cat "$tmp/said" "$mnt/.zarrfs/log")"
	same "variables back, $kind" "$(names) $(ls "$s" | grep -v zarr.json | xargs)" "t t.nc u u.nc y t u y"
	same "t back, $kind" "$(od -An -tf4 "$mnt/t" | tr -s ' \n' ' ')" " 1 2 3 4 5 6 "
	same "u back, $kind" "$(od -An -td2 "$mnt/u" | tr -s ' \n' ' ')" " 7 8 9 10 11 12 "
	# another variable of other values in its place is no rename
	cp "$mnt/dataset.nc" "$tmp/w.nc"
	ncrename -h -v t,w "$tmp/w.nc" >"$tmp/said" 2>&1
	ncap2 -h -A -s 'w(0, 0) = 50.0f' "$tmp/w.nc" "$tmp/w.nc" >"$tmp/said" 2>&1 || fail "ncap2: $(cat "$tmp/said")"
	dd if="$tmp/w.nc" of="$mnt/dataset.nc" bs=1M conv=notrunc status=none || fail "$kind: dd: $(cat "$mnt/.zarrfs/log")"
	same "variables beside it, $kind" "$(names)" "t t.nc u u.nc w w.nc y"
	same "w, $kind" "$(od -An -tf4 "$mnt/w" | tr -s ' \n' ' ')" " 50 2 3 4 5 6 "
	same "t beside it, $kind" "$(od -An -tf4 "$mnt/t" | tr -s ' \n' ' ')" " 1 2 3 4 5 6 "
	ncrename -h -v y,z "$mnt/t.nc" >"$tmp/said" 2>&1
	eventually 60 forgotten "$mnt/t.nc" || fail "$kind: t.nc cannot be written: $(cat "$tmp/said")"
	[ -e "$mnt/y" ] || fail "$kind: t.nc renames the coordinate of u"
	# a dimension, with its coordinate and without; what they are called is the array's, so of all files
	ncrename -h -d x,lon "$mnt/t.nc" >"$tmp/said" 2>&1 || fail "$kind: ncrename -d: $(cat "$tmp/said" "$mnt/.zarrfs/log")"
	ncrename -h -d y,lat -v y,lat "$mnt/dataset.nc" >"$tmp/said" 2>&1 || fail "$kind: ncrename -d -v: $(cat "$tmp/said" "$mnt/.zarrfs/log")"
	ncdump -h "$mnt/dataset.nc" | grep -E 'short u\(lat, lon\)|float lat\(lat\)|float t\(lat, lon\)' -c >"$tmp/said"
	same "variables of other dimensions, $kind" "$(cat "$tmp/said")" 3
	ncrename -h -d lon,w "$mnt/dataset.nc" >"$tmp/said" 2>&1 || fail "$kind: ncrename -d to what a variable is called: $(cat "$tmp/said")"
	ncrename -h -d w,x -d lat,y -v lat,y "$mnt/dataset.nc" >"$tmp/said" 2>&1 || fail "$kind: ncrename of all: $(cat "$tmp/said")"
	# of pure V2 the fill value says it: that must not become another one for chunks that are missing
	ncatted -h -a _FillValue,u,o,s,-7 "$mnt/dataset.nc" >"$tmp/said" 2>&1 || fail "$kind: ncatted: $(cat "$tmp/said")"
	ncdump "$mnt/u.nc" >"$tmp/said"
	same "_FillValue and values, $kind" "$(grep -c -e 'u:_FillValue = -7s' -e '10, 11, 12' "$tmp/said")" 2
	if [ $kind = zarr ]; then
		grep -q '"fill_value": -7' "$s/u/.zarray" || fail "the fill value: $(cat "$s/u/.zarray")"
		mv "$s/u/0.0" "$tmp/0.0"
		ncatted -h -a _FillValue,u,m,s,-8 "$mnt/u.nc" >"$tmp/said" 2>&1
		grep -q "'u.nc': 1 of 1 chunks of 'u' are missing" "$mnt/.zarrfs/log" || fail "the log: $(cat "$mnt/.zarrfs/log")"
		eventually 60 forgotten "$mnt/u.nc" || fail "u.nc cannot be written: $(cat "$tmp/said")"
		mv "$tmp/0.0" "$s/u/0.0"
		ncatted -h -a _FillValue,u,d,, "$mnt/u.nc" >"$tmp/said" 2>&1 || fail "no fill value: $(cat "$tmp/said")"
		grep -q '"fill_value": null' "$s/u/.zarray" || fail "no fill value: $(cat "$s/u/.zarray")"
	fi
	cat "$mnt/.zarrfs/refresh" >"$tmp/said"
	# twice, while the file is open
	exec 9<>"$mnt/dataset.nc"
	ncrename -h -d y,once "$mnt/dataset.nc" >"$tmp/said" 2>&1 || fail "$kind: ncrename: $(cat "$tmp/said")"
	ncrename -h -d once,y "$mnt/dataset.nc" >"$tmp/said" 2>&1 || fail "$kind: ncrename: $(cat "$tmp/said")"
	exec 9>&-
	same "dimensions renamed to and fro, $kind" "$(ncdump -h "$mnt/dataset.nc" | grep -c once) $(grep -l once -r "$s" | xargs)" "0 "
	ncks -h -O -x -v u "$mnt/dataset.nc" "$mnt/dataset.nc" >"$tmp/said" 2>&1 || fail "$kind: ncks -x: $(cat "$tmp/said")"
	[ -e "$mnt/u" ] || fail "$kind: u went without allow_delete"
	umount_store
	must_mount "$s" rw,allow_delete
	same "kept, $kind" "$(od -An -tf4 "$mnt/t" | tr -s ' \n' ' ')" " 1 2 3 4 5 6 "
	ncks -h -O -x -v u "$mnt/dataset.nc" "$mnt/dataset.nc" >"$tmp/said" 2>&1 || fail "$kind: ncks -x with allow_delete: $(cat "$mnt/.zarrfs/log")"
	same "what is left, $kind" "$(names)" "t t.nc w w.nc y"
	[ ! -e "$s/u" ] || fail "$kind: u is in the store still"
	ncdump "$mnt/t.nc" | grep -q '4, 5, 6' || fail "$kind: t"
	umount_store
done

# in an archive and a bucket; characters have no further dimension in NCZarr, which has a type for them
cat >"$tmp/c.cdl" <<'END'
netcdf c { dimensions: y = 2; x = 3; variables: short u(y, x); char c(y, x); data: u = 7, 8, 9, 10, 11, 12;
 c = "abc", "def"; }
END
ncgen -o "$tmp/nczarr.nc" "$tmp/c.cdl" || fail "ncgen"
sed 's/char c(y, x);//; s/ c = .*;//' "$tmp/c.cdl" >"$tmp/d.cdl"
ncgen -o "$tmp/pure.nc" "$tmp/d.cdl" || fail "ncgen"
stores=("file://$tmp/a.zip#mode=nczarr,zip" "file://$tmp/b.zip#mode=v3,zip")
if command -v radosgw >"$tmp/said"; then
	begin_radosgw
	s3 make bucket
	stores+=("s3://bucket/a#mode=nczarr" "s3://bucket/b#mode=zarr")
fi
for store in "${stores[@]}"; do
	"$ZARRFS" --create "$store" || fail "no store $store"
	must_mount "$store" rw
	case $store in *mode=nczarr*) new=nczarr ;; *) new=pure ;; esac
	for f in "$mnt/dataset.nc" "$tmp/plain.nc"; do
		cp "$tmp/$new.nc" "$f" || fail "cp to $store"
		timeout 60 ncrename -h -v u,wind -d x,lon "$f" >"$tmp/said" 2>&1 || fail "$store: $(cat "$tmp/said" "$mnt/.zarrfs/log")"
	done
	umount_store
	must_mount "$store"
	same "$store" "$(ncdump "$mnt/dataset.nc" | sed 1d | sort)" "$(ncdump "$tmp/plain.nc" | sed 1d | sort)"
	umount_store
done

# an array that is the top of its store shares no dimension with the store beside it
"$python" -c 'import sys, zarr3; zarr3.pair(*sys.argv[1:])' "$tmp/tops" y || exit 1
must_mount "$tmp/tops" rw
ncrename -h -d y,row "$mnt/a.nc" >"$tmp/said" 2>&1 || fail "the top of a store: $(cat "$tmp/said" "$mnt/.zarrfs/log")"
umount_store
grep -q '"row"' "$tmp/tops/a/zarr.json" || fail "a: $(cat "$tmp/tops/a/zarr.json")"
grep -q '"y"' "$tmp/tops/b/zarr.json" || fail "b: $(cat "$tmp/tops/b/zarr.json")"

# of pure Zarr a dimension grows by its name: another one, a record and a new variable along it, in one go
sed 's/y = 2/time = UNLIMITED/; s/y, x/time, x/g; s/ float y(y);//; s/ y = 0, 1;//' "$tmp/x.cdl" | ncgen -o "$tmp/grows.nc" || fail "ncgen"
"$python" -c 'import netCDF4' 2>/dev/null || last=
for kind in ${last-zarr v3}; do
	s=$tmp/grows.$kind
	"$ZARRFS" --create "file://$s#mode=$kind" || fail "no store of $kind"
	must_mount "$s" rw,unlimited=time
	cp "$tmp/grows.nc" "$mnt/dataset.nc" || fail "cp"
	"$python" - "$mnt/dataset.nc" <<'END' || fail "$kind: netCDF4"
import sys, netCDF4
with netCDF4.Dataset(sys.argv[1], "r+") as file:
    file.renameDimension("time", "day")
    file["t"][2] = [20, 21, 22]
    file.createVariable("n", "i4", ("day",))[:] = [1, 2, 3]
END
	same "the log, $kind" "$(cat "$mnt/.zarrfs/log")" ""
	umount_store
	must_mount "$s"
	ncdump "$mnt/dataset.nc" >"$tmp/said"
	same "of a dimension that grows, $kind" "$(grep -c -e 'day = 3' -e 'float t(day, x)' -e 'short u(day, x)' -e 'int n(day)' -e 'n = 1, 2, 3' -e '20, 21, 22' "$tmp/said")" 6
	umount_store
done

#!/bin/bash
# netCDF-4 files that are copied into a mount, or made there by HDF5, become variables as classic ones do; of a new VAR.nc only what goes with VAR.
. "$(dirname "$0")/functions.sh"
needs ncgen ncdump nccopy
"$python" -c 'import netCDF4' 2>/dev/null || skip "no netCDF4 for $python"

{
	echo 'netcdf x { dimensions: time = UNLIMITED; y = 30; x = 50; n = 5; variables: double time(time); time:units = "days since 2000-01-01"; time:bounds = "tb";'
	echo 'double tb(time); short t(time, y, x); t:_FillValue = -1s; t:coordinates = "name"; t:_DeflateLevel = 1; t:_ChunkSizes = 5, 7, 50; float y(y);'
	echo 'ubyte u(y); char name(y, n); uint64 large(y); float other; string :one = "a text"; :title = "new"; data: other = 3; time ='
	seq -s, 24
	echo '; tb ='
	seq -s, 24
	echo '; y ='
	seq -s, 30
	echo '; u ='
	seq -s, 226 255
	echo '; large ='
	seq -s, 18446744073709551586 18446744073709551615
	echo '; name ='
	seq -s, 30 | sed 's/[0-9]*/"n&"/g'
	echo '; t ='
	seq -s, 36000 | sed 's/3[3-9][0-9][0-9][0-9]/_/g'
	echo '; }'
} >"$tmp/x.cdl"
ncgen -k nc4 -o "$tmp/x.nc" "$tmp/x.cdl" || fail "ncgen"

# alike FILE VARIABLE...: their values are those of the file that was copied
alike()
{
	for v in "${@:2}"; do
		same "$v of $1" "$(ncdump -v "$v" "$1" | sed -n '/^data:/,$p' | md5sum)" "$(ncdump -v "$v" "$tmp/x.nc" | sed -n '/^data:/,$p' | md5sum)"
	done
}

"$ZARRFS" --create "$tmp/s.zarr" || fail "no store"
must_mount "$tmp/s.zarr" rw,chunk=8K
mkdir "$mnt/all" "$mnt/one" "$mnt/made" "$mnt/refused" || fail "mkdir"
cp "$tmp/x.nc" "$mnt/all/dataset.nc" 2>/dev/null || ! grep -q 'without libnetcdf' "$mnt/.zarrfs/log" || skip "built without libnetcdf"
cp "$tmp/x.nc" "$mnt/all/dataset.nc" || fail "cp to dataset.nc: $(cat "$mnt/.zarrfs/log")"
alike "$mnt/all/dataset.cdf5.nc" t tb time y u name large other
same "the text" "$(getfattr --only-values -n user.one "$mnt/all" 2>/dev/null)" "a text"
cp "$tmp/x.nc" "$mnt/one/t.nc" || fail "cp to t.nc: $(cat "$mnt/.zarrfs/log")"
same "what goes with t" "$(cd "$mnt/one" && echo *)" "name t t.nc tb time y"
alike "$mnt/one/t.nc" t time y tb name

# again, of other values and one attribute less, by HDF5 itself
"$python" - "$tmp/x.nc" "$mnt/all/t.nc" "$mnt/made/dataset.nc" <<'END' || fail "netCDF4"
import sys, netCDF4
with netCDF4.Dataset(sys.argv[1]) as was:
    for name in sys.argv[2:]:
        with netCDF4.Dataset(name, "w") as now:
            for d in ("time", "y", "x", "n"):
                now.createDimension(d, None if d == "time" else len(was.dimensions[d]))
            for v in ("t", "time", "tb", "y", "name"):
                to = now.createVariable(v, was[v].dtype, was[v].dimensions, fill_value=-1 if v == "t" else None)
                to.set_auto_maskandscale(False)
                was[v].set_auto_maskandscale(False)
                was[v].set_auto_chartostring(False)
                to.setncatts({k: x for k, x in was[v].__dict__.items() if k != "_FillValue"})
                to[:] = was[v][:] + (v == "t" and was[v][:] >= 0) if v == "t" else was[v][:]
END
same "t" "$(od -An -tu2 -N6 "$mnt/all/t" | tr -s ' ')" " 2 3 4"
same "t" "$(od -An -tu2 -N6 "$mnt/made/t" | tr -s ' ')" " 2 3 4"
alike "$mnt/all/t.nc" time y tb name

# What is not taken in: groups, types of one's own, half a file.
echo 'netcdf g { group: a { dimensions: x = 1; variables: int v(x); } }' >"$tmp/g.cdl"
echo 'netcdf g { dimensions: x = 1; variables: string v(x); data: v = "s"; }' >"$tmp/s.cdl"
for f in g s; do
	ncgen -k nc4 -o "$tmp/$f.nc" "$tmp/$f.cdl" || fail "ncgen"
	cp "$tmp/$f.nc" "$mnt/refused/dataset.nc" 2>/dev/null && fail "$f.nc was taken in"
	rm -f "$mnt/refused/dataset.nc"
done
head -c 3000 "$tmp/x.nc" >"$tmp/h.nc"
cp "$tmp/h.nc" "$mnt/refused/dataset.nc" 2>/dev/null && fail "half a file was taken in"
rm -f "$mnt/refused/dataset.nc"
same "nothing was made" "$(ls "$mnt/refused")" ""
for why in 'it has groups' 'has strings' 'HDF error'; do
	grep -q "$why" "$mnt/.zarrfs/log" || fail "the log does not say '$why': $(cat "$mnt/.zarrfs/log")"
done
umount_store

must_mount "$tmp/s.zarr"
alike "$mnt/one/t.nc" t time y tb name
same "t" "$(od -An -tu2 -N6 "$mnt/made/t" | tr -s ' ')" " 2 3 4"
umount_store

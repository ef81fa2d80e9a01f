#!/bin/bash
# Programs that write into netCDF files do to a mounted one what they do to a plain copy of it.
# shellcheck disable=SC2016 # commands are run with $f as the file
. "$(dirname "$0")/functions.sh"
py() { "$python" "$here/nc_write.py" "$@"; }
"$python" -c 'import zarr, netCDF4, scipy, xarray' 2>/dev/null || skip "no zarr, netCDF4, scipy or xarray for $python"
needs ncatted ncap2 ncks nccopy ncdump rsync perl cp

# NAME FILE COMMAND; of rec, the dimension of time is unlimited
cases=(
	'values b.nc py values $f'
	'slab t.nc py slab $f'
	'records t.rec.nc py records $f'
	'records_too t.nc py records $f'
	'attribute b.nc ncatted -O -h -a units,b,o,c,kg $f'
	'attributes t.nc ncatted -h -a note,global,c,c,aaaa -a long_name,t,d,, $f'
	'room t.nc ncatted -h -a note,global,c,c,$(printf %020000d 7) $f'
	'no_room t.nc ncatted -h -a note,global,c,c,$(printf %080000d 7) $f'
	'ncap2_append t.nc ncap2 -h -A -s t=t*2 $f $f'
	'ncap2_over t.nc ncap2 -h -O -s t=t*2 $f $f'
	'ncks t.nc ncap2 -h -O -s t=t+1 $f $tmp/x.nc && ncks -h -A -v t $tmp/x.nc $f'
	'ncks_in_place t.nc ncap2 -h -O -s t=t+1 $f $tmp/x.nc && ncks -h -A --no_tmp_fl -v t $tmp/x.nc $f'
	'scipy t.nc py by_scipy $f'
	'xarray t.nc py by_xarray $f'
	'xarray_anew t.nc py by_xarray_anew $f'
	'nccopy t.nc new && nccopy $tmp/new.nc $f'
	'cp t.nc new && cp $tmp/new.nc $f'
	'open_before t.nc new && exec 7<$f && cp $tmp/new.nc $f && stat -L /dev/fd/7 && exec 7<&-'
	'cat t.nc new && cat $tmp/new.nc >$f'
	'mv t.nc new && cp $tmp/new.nc ${f%/*}/t.nc.tmp && mv ${f%/*}/t.nc.tmp $f'
	'install t.nc new && install -m 644 $tmp/new.nc $f'
	'rsync t.nc new && rsync -I $tmp/new.nc $f'
	'rsync_in_place t.nc new && rsync -I --inplace $tmp/new.nc $f'
	'dd t.nc new && dd if=$tmp/new.nc of=$f bs=10000 conv=notrunc status=none'
	'ncrcat t.rec.nc cp $f $tmp/x.nc && ncrcat -h --rec_apn $tmp/x.nc $f'
	'sync t.nc py synced $f'
	'map t.nc py mapped $f'
	'tar t.nc new && mkdir -p $tmp/tar && mv $tmp/new.nc $tmp/tar/t.nc && tar c -C $tmp/tar t.nc | tar x -C ${f%/*}'
	'sed b.nc sed -i s/one/two/ $f'
	'perl b.nc perl -pi -e s/one/two/ $f'
	'ncgen t.nc ncdump $f | sed s/days/hours/ | ncgen -o $f'
	'move t.nc new && cp $tmp/new.nc /dev/shm/zarrfs-$$.nc && mv /dev/shm/zarrfs-$$.nc $f'
	'dd_anew t.nc new && dd if=$tmp/new.nc of=$f bs=7777 status=none'
	'truncate t.rec.nc truncate -s $(stat -c %s $f) $f && touch $f'
	'there_and_back t.nc cp $f $tmp/x.nc && cp $tmp/x.nc $f'
	'renamed t.nc ncrename -h -a t@long_name,title $f'
	'dataset dataset.nc ncap2 -h -O -s t=t*2 $f $f'
	'variable dataset.nc ncap2 -h -A -s u=t*2 $f $f'
	'variable_in_place dataset.nc ncap2 -h -O -s u=t*2 $f $tmp/x.nc && ncks -h -A --no_tmp_fl -v u $tmp/x.nc $f'
)

# has PROGRAM CASE: one more, where that is installed
has()
{
	if command -v "$1" >"$tmp/said"; then
		cases+=("$2")
	fi
}
has vim 'vim b.nc timeout 60 vim -b -es -u NONE -c %s/one/two/ -c wq $f'
has vim 'vim_backup b.nc timeout 60 vim -b -N -es -u NONE -c "set backup" -c %s/one/two/ -c wq $f'
has gdal_edit.py 'gdal b.nc timeout 60 gdal_edit.py -mo NC_GLOBAL#note=more $f'
has octave 'octave t.nc timeout 120 octave --no-gui --eval "pkg load netcdf; t = ncread(\"$f\", \"t\"); ncwrite(\"$f\", \"t\", t + 1)"'
has Rscript 'R t.nc timeout 120 Rscript -e "library(ncdf4); n <- nc_open(\"$f\", write = TRUE); ncvar_put(n, \"t\", ncvar_get(n, \"t\") * 2); ncatt_put(n, \"t\", \"units\", \"degC\"); nc_close(n)"'
if command -v gfortran >"$tmp/said" && gfortran -o "$tmp/records" "$here/nc_write.f90" -I/usr/include -lnetcdff 2>"$tmp/said"; then
	cases+=('fortran t.rec.nc $tmp/records $f')
fi
if cc -o "$tmp/synced" "$here/nc_write.c" -lnetcdf 2>"$tmp/said"; then
	cases+=('killed t.nc $tmp/synced $f; [ $? = 137 ]')
fi

# another file of the same variables
new()
{
	ncap2 -h -O -s 't=t*3;t@note="more"' "$f" "$tmp/new.nc"
}

py make "$tmp/s.zarr" "${cases[@]%% *}" refused cdo
py make_times "$tmp/s.zarr" times
"$python" -c 'import sys, stores; stores.group(sys.argv[1], {}, "empty")' "$tmp/s.zarr" || fail "no empty group"
must_mount "$tmp/s.zarr" rw,unlimited=time,codec=zlib,chunk=16K
mkdir "$tmp/plain"
for case in "${cases[@]}"; do
	read -r name file command <<<"$case"
	mkdir "$tmp/plain/$name"
	cp "$mnt/$name/$file" "$tmp/plain/$name/$file"
	for f in "$tmp/plain/$name/$file" "$mnt/$name/$file"; do
		eval "$command" >"$tmp/said" 2>&1 || fail "$name: '$command' failed on $f: $(cat "$tmp/said")"
	done
	py same "$mnt/$name/$file" "$tmp/plain/$name/$file" || fail "$name: it is not as the plain file is"
done

# CDO has all coordinates in doubles, which come back as what they are stored as, and attributes of its own.
if command -v cdo >"$tmp/said"; then
	f=$mnt/cdo/t.nc
	{ cdo -s mulc,2 "$f" "$tmp/x.nc" && cdo -s -O copy "$tmp/x.nc" "$f"; } || fail "cdo"
	same "what cdo wrote" "$(cdo -s diffv "$tmp/x.nc" "$f" 2>&1)" ""
	{ cdo -s -O addc,1 "$f" "$f" && cdo -s -O addc,1 "$tmp/x.nc" "$tmp/y.nc"; } || fail "cdo onto what it reads"
	same "what cdo wrote to what it read" "$(cdo -s diffv "$tmp/y.nc" "$f" 2>&1)" ""
	same "the type of x" "$(ncdump -h "$f" | grep -o '[a-z]* x(')" "float x("
	py not_a_float "$tmp/y.nc"
	cp "$tmp/y.nc" "$f" 2>/dev/null && fail "a double that is no float was taken for one"
	forget "$f"
fi

# Files that there were not: of one variable with its coordinates, and of all.
f=$mnt/refused/t.nc new
cp "$tmp/new.nc" "$mnt/empty/t.nc" || fail "no new file t.nc"
py same "$mnt/empty/t.nc" "$tmp/new.nc" || fail "a new t.nc is not what was copied"
same "a new group" "$(cd "$mnt/empty" && echo *)" "dataset.cdl t t.nc time x y"
ncrename -h -v t,u "$tmp/new.nc" "$tmp/u.nc" >/dev/null 2>&1
cp "$tmp/u.nc" "$mnt/empty/u.nc" || fail "no new file u.nc"
py same "$mnt/empty/u.nc" "$tmp/u.nc" || fail "a new u.nc is not what was copied"
cp "$tmp/u.nc" "$mnt/empty/v.nc" 2>/dev/null && fail "a v.nc without a variable v was taken in"
rm "$mnt/empty/v.nc"

py too_large "$mnt/refused/b.nc" || fail "300 was taken for a byte"
grep -q 'refused/b.nc.*300' "$mnt/.zarrfs/log" || fail "the log does not say that 300 was refused"
py values "$mnt/refused/b.nc" 2>/dev/null && fail "a file that was refused something is written again"
forget "$mnt/refused/b.nc"
py values "$mnt/refused/b.nc" || fail "after a refresh it cannot be written"

# Times in another unit than the file's type of numbers has them in are not taken for those.
same "times before" "$(od -An -td8 -w8 "$mnt/times/when" | tr -d ' ' | tr '\n' ' ')" "$(printf '1700000000%03d ' 0 1 2 3 4)"
py in_doubles "$mnt/times/dataset.cdf5.nc" "$tmp/doubles.nc" "milliseconds since 1970-01-01"
cp "$tmp/doubles.nc" "$mnt/times/dataset.cdf5.nc" 2>/dev/null && fail "milliseconds were taken for seconds"
forget "$mnt/times/dataset.cdf5.nc"
same "times" "$(od -An -td8 -w8 "$mnt/times/when" | tr -d ' ' | tr '\n' ' ')" "$(printf '1700000000%03d ' 0 1 2 3 4)"
umount_store

# What the store holds.
must_mount "$tmp/s.zarr" unlimited=time
py same "$mnt/empty/u.nc" "$tmp/u.nc" || fail "the store does not hold u.nc"
py stored "$tmp/s.zarr" || fail "something else is stored"
for case in "${cases[@]}"; do
	read -r name file command <<<"$case"
	py same "$mnt/$name/$file" "$tmp/plain/$name/$file" || fail "$name: the store does not hold it"
done
umount_store

# without consolidated metadata: a group's files know a variable that came by mv when mv is done
"$python" -c 'import sys, stores; stores.scatter(sys.argv[1])' "$tmp/s.zarr" || fail "scatter"
must_mount "$tmp/s.zarr" rw
f=$mnt/refused/dataset.nc
for u in u v; do
	cat "${f%.nc}.cdl" "$f" >/dev/null
	ncap2 -h -O -s "$u=t*2" "$f" "$tmp/moved.nc"
	stat "$f" >/dev/null
	mv "$tmp/moved.nc" "$f" || fail "mv"
	ncdump -h "$f" | grep -q " $u(" || fail "dataset.nc does not know the variable $u that came by mv"
	grep -q " $u(" "${f%.nc}.cdl" || fail "dataset.cdl does not know the variable $u that came by mv"
done
umount_store

# NCZarr, where a group declares its dimensions: what has more records and another variable of them
cat >"$tmp/rec.cdl" <<'END'
netcdf rec { dimensions: t = UNLIMITED; x = 2; variables: short a(t, x); data: a = 1, 2; }
END
cat >"$tmp/more.cdl" <<'END'
netcdf rec { dimensions: t = UNLIMITED; x = 2; variables: short a(t, x); int b(t, x); data: a = 1, 2, 3, 4, 5, 6; b = 7, 8, 9, 10, 11, 12; }
END
ncgen -o "$tmp/rec.nc" "$tmp/rec.cdl"
ncgen -o "$tmp/more.nc" "$tmp/more.cdl"
"$ZARRFS" --create "$tmp/nczarr.zarr" || fail "no store"
must_mount "$tmp/nczarr.zarr" rw
for file in rec more; do
	cp "$tmp/$file.nc" "$mnt/dataset.nc" || fail "cp of $file.nc"
	py same "$mnt/dataset.nc" "$tmp/$file.nc" || fail "$file.nc is not what was copied"
done

#!/bin/bash
# dataset.cdl: ncgen makes a file of it, and ncdump -h prints of that file what was in it; of odd names, nested groups, all types.
. "$(dirname "$0")/functions.sh"
needs ncgen ncdump getfattr

"$python" "$here/cdl_files.py" make "$tmp/store.zarr" || exit 1
must_mount "$tmp/store.zarr"
same "listed without consolidated metadata" "$(ls "$mnt" | grep -c dataset)" 0
"$python" "$here/cdl_files.py" check "$mnt" || fail "the round trip of odd names and types"
diff "$mnt/dataset.cdl" - <<'END' || fail "the text is another"
netcdf dataset {
types:
  compound both_field_t {
    int64 t ;
    float z(2) ;
  }; // both_field_t
  compound both_t {
    short x ;
    char s(3) ;
    both_field_t in(2) ;
  }; // both_t
dimensions:
	x = 2 ;
	x_3 = 3 ;
	none = UNLIMITED ; // (0 currently)
	_Anonymous_Dim_4 = 4 ;
	complex = 2 ;
	str16 = 16 ;
variables:
	short \2m_temp\(K\)(x) ;
		\2m_temp\(K\):_FillValue = -9s ;
		\2m_temp\(K\):empty = "[]" ;
		\2m_temp\(K\):_x66_loat = "a\nb \"c\" \'d\'" ;
		string \2m_temp\(K\):list = "one", "two" ;
		\2m_temp\(K\):valid_range = -1s, 1s ;
	both_t both(x) ;
	both_t both2(x_3) ;
	byte flag(x_3) ;
	ubyte _x66_loat(x) ;
	// json is left out: netCDF has no type for it
	double no\ ne(none) ;
	// odd is left out: dtype '<f16' is not supported
	float pair(_Anonymous_Dim_4, complex) ;
	char text(x, str16) ;
	int64 when(x) ;
		when:units = "hours since 1970-01-01" ;
		when:calendar = "proleptic_gregorian" ;
		when:_FillValue = -9223372036854775808LL ;
	int x(x) ;

// global attributes:
		:_x5F_FillValue = 1 ;
		:history = "" ;

group: g\,h {
  dimensions:
  	x = 7 ;
  variables:
  	float v(x, /x, x_3) ;

  group: deep {
    dimensions:
    	x = 4 ;
    variables:
    	float w(x, /g\,h/x) ;
    } // group deep
  } // group g\,h
}
END
diff "$mnt/g,h/dataset.cdl" - <<'END' || fail "the text of a group is another"
netcdf dataset {
dimensions:
	x = 7 ;
	x_2 = 2 ;
	x_3 = 3 ;
variables:
	float v(x, x_2, x_3) ;

group: deep {
  dimensions:
  	x = 4 ;
  variables:
  	float w(x, /x) ;
  } // group deep
}
END

# a single array is a group of one variable
umount_store
must_mount "$tmp/store.zarr/x"
same "a single array" "$(grep -c 'int x' "$mnt/dataset.cdl")" 1
umount_store

# with consolidated metadata it is listed, and a change in the store is seen
"$python" -c "import sys, zarr; zarr.consolidate_metadata(sys.argv[1])" "$tmp/store.zarr"
must_mount "$tmp/store.zarr" metadata_ttl=1
same "listed with consolidated metadata" "$(ls "$mnt" | grep dataset)" dataset.cdl
size=$(stat -c %s "$mnt/dataset.cdl")
same "its size" "$(wc -c <"$mnt/dataset.cdl")" "$size"
"$python" - "$tmp/store.zarr" <<'END'
import sys, zarr
zarr.open_group(sys.argv[1])["x"].attrs["added"] = "later"
zarr.consolidate_metadata(sys.argv[1])
END
eventually 60 grep -q 'x:added = "later"' "$mnt/dataset.cdl" || fail "a new attribute is not seen"
same "an attribute of the file" "$(getfattr --only-values -n user._FillValue "$mnt/dataset.cdl" 2>/dev/null)" 1
umount_store

"$python" "$here/cdl_files.py" words "$tmp/words.zarr" || exit 1
must_mount "$tmp/words.zarr"
"$python" "$here/cdl_files.py" check "$mnt" "$mnt/dataset.cdl" || fail "the round trip of words"
same "lists of texts stay lists" "$(grep -c '^		string :.*list = "", "a\\nb", ' "$mnt/dataset.cdl")" 1
same "whatever their name" "$(grep -c '^		string :slashes_x2F_in_x2F_it = "one", "two"' "$mnt/dataset.cdl")" 1
umount_store

# by full names: what two groups have is two dimensions, what a variable has twice is not one
cat >"$tmp/twice.cdl" <<'END'
netcdf twice {
dimensions: x = 4 ; y = 2 ;
variables: float a(x, x) ;
group: g { dimensions: x = 4 ; variables: float v(x, /x) ; float w(/x, /x, /y) ; float u(x, x, x) ; }
}
END
ncgen -4 -o "file://$tmp/twice.zarr#mode=nczarr,file" "$tmp/twice.cdl" || fail "ncgen cannot write NCZarr"
must_mount "$tmp/twice.zarr"
grep -E '=|\(' "$mnt/dataset.cdl" | grep -v _FillValue | tr -d '\t ' | diff - /dev/fd/3 3<<'END' || fail "dimensions by full names"
x=4;
y=2;
x_2=4;
floata(x,x_2);
x=4;
x_2=4;
x_3=4;
floatv(x,/x);
floatw(/x,x_2,y);
floatu(x,x_2,x_3);
END
same "dims of w" "$(getfattr --only-values -n user.zarrfs.dims "$mnt/g/w" 2>/dev/null)" "/x, /x_2, /y"
umount_store

# and so in a netCDF file of one group, where both have one size: the name is that one's which has the coordinate
cat >"$tmp/full.cdl" <<'END'
netcdf full {
dimensions: x = 4 ;
variables: float x(x) ; data: x = 1, 2, 3, 4 ;
group: g { dimensions: x = 4 ; variables: float a(/x) ; float b(/x) ; float c(x, /x) ; float x(x) ; data: x = 5, 6, 7, 8 ; }
}
END
ncgen -4 -o "file://$tmp/full.zarr#mode=nczarr,file" "$tmp/full.cdl" || fail "ncgen cannot write NCZarr"
must_mount "$tmp/full.zarr"
same "dimensions of g/dataset.nc" "$(ncdump -h "$mnt/g/dataset.nc" | grep -E ' = [0-9]+ ;$|float' | tr -d '\t ;' | sort | tr '\n' ' ')" \
	"floata(x_2) floatb(x_2) floatc(x,x_2) floatx(x) floatx_2(x_2) x=4 x_2=4 "
same "the coordinates" "$(ncdump -v x,x_2 "$mnt/g/dataset.nc" | sed -n 's/^ x.* = //p' | tr -d '\n')" "5, 6, 7, 8 ;1, 2, 3, 4 ;"
umount_store

# a structure of more fields than a file shows as variables: that variable is left out
mkdir "$tmp/wide.zarr"
"$python" - "$tmp/wide.zarr/.zarray" <<'END'
import json, sys
json.dump({"zarr_format": 2, "shape": [2], "chunks": [2], "order": "C", "filters": None, "compressor": None, "fill_value": None,
           "dtype": [["f%d" % i, "|u1"] for i in range(5000)]}, open(sys.argv[1], "w"))
END
"$ZARRFS" --cat "$tmp/wide.zarr" dataset.cdl >"$tmp/out" 2>"$tmp/err" || fail "5,000 fields: $(head -c 300 "$tmp/err")"
grep -q "left out: more than 4096 fields" "$tmp/out" || fail "of 5,000 fields is said: $(head -c 300 "$tmp/out")"
exit $((failures != 0))

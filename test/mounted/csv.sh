#!/bin/bash
# VAR.csv: every field is what the store holds, every line has the same length, any part of the file can be read alone; awk,
# sqlite, pandas and R find the columns and types that one hopes for.
. "$(dirname "$0")/functions.sh"

"$python" "$here/csv_files.py" make "$tmp/store.zarr" || exit 1
for endian in native big; do
	must_mount "$tmp/store.zarr" "endian=$endian,list=flat:csv"
	"$python" "$here/csv_files.py" check "$tmp/store.zarr" "$mnt" || fail "endian=$endian"
	[ -e "$mnt/json.csv" ] && fail "what has no text has a .csv"
	umount_store
done

# the header lines
must_mount "$tmp/store.zarr" list=csv
while read -r name want; do
	same "header of $name" "$(head -n 1 "$mnt/$name.csv")" "$want"
done <<'END'
air n,time,y,x,air
scalar n,scalar
pair n,_Anonymous_Dim_3,pair.real,pair.imag
mixed n,_Anonymous_Dim_4,mixed.a,mixed.b.0,mixed.b.1,mixed.s
n n_,x,n
time n,time
lat n,lat__,lat_,lat
square n,y,y_2,square
odd,name n,x,"odd,name"
none n,_Anonymous_Dim_0,none
END
same "a line of times" "$(sed -n 2p "$mnt/air.csv" | tr -d ' ')" "0,2000-01-01T06:00:00,10.5,a,0.0"
same "a line of time" "$(sed -n 2p "$mnt/time.csv" | tr -d ' ')" "0,2000-01-01T06:00:00"
same "a line of datetime64" "$(sed -n 3p "$mnt/by_day.csv" | tr -d ' ')" "1,2001-02-04T00:00:00,1"
same "dates of a calendar without leap years" "$(tail -n +2 "$mnt/run_day.csv" | tr -d ' ' | paste -sd ' ')" \
	"0,2000-03-01T00:00:00 1,1999-12-31T00:00:00 2,10000000"
same "dates of a calendar of 360 days as values" "$(tail -n +2 "$mnt/valid.csv" | tr -d ' ' | paste -sd ' ')" \
	"0,2000-03-01T00:00:00,2000-03-01T12:00:00 1,1999-12-31T00:00:00, 2,10000000,1999-12-30T00:00:00"
same "datetime64 as values" "$(tail -n +2 "$mnt/when.csv" | tr -d ' ' | cut -d, -f3 | paste -sd ' ')" \
	"1969-12-31T23:59:59.500  2001-02-03T00:00:00.000"
same "a missing value" "$(sed -n 4p "$mnt/air.csv" | tr -d ' ')" "2,2000-01-01T06:00:00,10.5,\"c,\"\"c\"\"\","

# a coordinate that cannot be read
sed -i 's/"id": "[a-z0-9]*"/"id": "nope"/' "$tmp/store.zarr/depth/.zarray"
umount_store
must_mount "$tmp/store.zarr"
same "an index in its place" "$(sed -n 3p "$mnt/half.csv" | tr -d ' ')" "1,1,1.5"
eventually 60 grep -q "coordinate 'depth' is in no .csv or .png, which have the index instead: codec 'nope' is not supported" "$log" || fail "the log does not tell of 'depth': $(cat "$log")"

# a single array; its name may be "n"
umount_store
must_mount "$tmp/store.zarr/n" list=csv
same "the list" "$(ls "$mnt")" n.csv
same "its header" "$(head -n 1 "$mnt/n.csv")" "n_,x,n"
exit $((failures != 0))

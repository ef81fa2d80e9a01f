#!/bin/bash
# VAR.csv in the hands of awk, sqlite, pandas and R: column names, types and sums come out right, missing values are missing.
. "$(dirname "$0")/functions.sh"
needs awk sqlite3 Rscript
"$python" -c 'import pandas' 2>/dev/null || skip "no pandas"

"$python" - "$tmp/store.zarr" <<'END' || exit 1
import sys
import numpy as np
import zarr
g = zarr.open_group(zarr.DirectoryStore(sys.argv[1]), "w")
def put(name, values, dims, attrs={}):
    a = g.create_dataset(name, data=values, fill_value=None)
    a.attrs.update({"_ARRAY_DIMENSIONS": dims, **attrs})
t = np.arange(20, dtype="f4").reshape(2, 5, 2) + 0.5
t[0, 1, 0] = np.nan
put("t", t, ["time", "lat", "site"], {"_FillValue": float("nan")})
put("time", np.array([0, 6], "i4"), ["time"], {"units": "hours since 1999-12-31 18:00"})
put("lat", np.array([-60., -30, 0, 30, 60]), ["lat"])
put("site", np.array(["north, east", 'the "old" one']), ["site"])
put("count", np.arange(6, dtype="i8"), ["n"])
END
must_mount "$tmp/store.zarr"

same "awk's sum" "$(awk -F, 'NR > 1 && $NF != "" {s += $NF; n++} END {print s, n}' "$mnt/count.csv")" "15 6"
same "awk's sum of numbers" "$(awk -F, 'NR > 1 {s += $1} END {print s}' "$mnt/t.csv")" 190

sqlite3 "$tmp/db" <<END >"$tmp/sqlite" || fail "sqlite3"
.mode csv
.import $mnt/t.csv t
.mode list
select count(*), sum(t), sum(t = ''), min(time), max(lat + 0), max(n + 0) from t;
select distinct site from t order by site;
create table c(n_ integer, n integer, count integer);
.import --csv --skip 1 $mnt/count.csv c
select sum(n_), sum(count), typeof(n_), typeof(count) from c;
END
same "sqlite's answers" "$(tr '\n' ' ' <"$tmp/sqlite")" \
	'20|197.5|1|1999-12-31T18:00:00|60.0|19 north, east the "old" one 15|15|integer|integer '

"$python" - "$mnt" <<'END' || fail "pandas"
import sys
import numpy as np
import pandas
from stores import Check
c = Check()
t = pandas.read_csv(sys.argv[1] + "/t.csv", index_col="n", parse_dates=["time"])
c.same("columns", list(t.columns), ["time", "lat", "site", "t"])
c.same("types", [str(d) for d in t.dtypes], ["datetime64[ns]", "float64", "object", "float64"])
c.same("index", list(t.index), list(range(20)))
c.same("times", sorted(set(t.time.astype(str))), ["1999-12-31 18:00:00", "2000-01-01 00:00:00"])
c.same("missing", int(t.t.isna().sum()), 1)
c.same("sum", float(t.t.sum()), 197.5)
c.same("sites", sorted(set(t.site)), ["north, east", 'the "old" one'])
n = pandas.read_csv(sys.argv[1] + "/count.csv")
c.same("types of integers", [str(d) for d in n.dtypes], ["int64"] * 3)
sys.exit(c.failed != 0)
END

Rscript --vanilla - "$mnt" <<'END' >"$tmp/R" || fail "R"
d <- commandArgs(TRUE)[1]
t <- read.csv(file.path(d, "t.csv"))
cat(names(t), sapply(t, class), sum(is.na(t$t)), sum(t$t, na.rm = TRUE), nrow(t), unique(t$site), sep = ";")
cat("\n")
cat(as.numeric(diff(range(as.POSIXct(t$time, format = "%Y-%m-%dT%H:%M:%S", tz = "UTC"))), units = "hours"), "\n")
END
same "R's answer" "$(cat "$tmp/R")" 'n;time;lat;site;t;integer;character;numeric;character;numeric;1;197.5;20;north, east;the "old" one
6 '
exit $((failures != 0))

#!/bin/bash
# What people draw and compute with interactively, on the sample store: R, GMT, GrADS, Ferret and ncview find the same warmest place in January.
. "$(dirname "$0")/functions.sh"

needs R gmt grads pyferret3 ncview Xvfb xwd convert
must_mount "$data/sample.zarr"
file=$mnt/sst.nc
want=$("$python" - "$mnt" <<'END'
import sys
import numpy as np
sst = np.fromfile(sys.argv[1] + "/sst", "f4").reshape(12, 45, 60)[0]
print("%.2f" % sst[sst > -1e33].max())
END
)

# found WHAT TEXT: the warmest temperature is in it, and nothing warmer that would be a missing value
found()
{
	grep -qE "(^|[^0-9.])${want/./\\.}[0-9]*" <<<"$2" || fail "$1 does not find $want: $(tail -n 5 <<<"$2")"
}

found "ncdf4 of R" "$(R --slave -e "library(ncdf4); cat(sprintf('%.2f', max(ncvar_get(nc_open('$file'), 'sst')[,,1], na.rm=TRUE)))" 2>&1)"
found "GMT" "$(cd "$tmp" && gmt grd2xyz "$file?sst[0]" | awk '$3 != "NaN" && (!n++ || $3 > max) { max = $3 } END { printf "%.2f", max }' 2>&1)"

printf '%s\n' "'sdfopen $file'" "'d max(max(sst,x=1,x=60),y=1,y=45)'" "say result" "'quit'" >"$tmp/warmest.gs"
found "GrADS" "$(cd "$tmp" && timeout 60 grads -blc "run $tmp/warmest.gs" 2>&1 </dev/null)"

printf '%s\n' "use \"$file\"" "list/l=1 sst[x=@max,y=@max]" "quit" >"$tmp/warmest.jnl"
found "Ferret" "$(cd "$tmp" && PATH=/usr/bin:/bin timeout 60 pyferret3 -nodisplay -script "$tmp/warmest.jnl" 2>&1 </dev/null)"

# ncview draws: its window has the colours of a map, not those of an error box
exec 3< <(exec Xvfb -noreset -displayfd 1 -screen 0 1200x800x24 2>/dev/null)
server=$!
read -r -t 20 -u 3 display || fail "no X server"
DISPLAY=:$display ncview "$file" >"$tmp/ncview.log" 2>&1 &
viewer=$!
colours()
{
	[ "$(DISPLAY=:$display xwd -root -silent | convert xwd:- -crop 300x225+0+510 -format %k info:)" -gt 60 ]
}
eventually 60 colours || fail "ncview draws nothing: $(head -c 500 "$tmp/ncview.log")"
kill $viewer $server
wait $viewer 2>/dev/null
true

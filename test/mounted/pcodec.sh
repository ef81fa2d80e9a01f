#!/bin/bash
# pcodec: each stream of test/data/pcodec gives its numbers in Zarr V2 and V3, in shards, behind another codec and as netCDF; what is cut short, or
# packed twice, is an error with its reason.
. "$(dirname "$0")/functions.sh"

"$python" "$here/pcodec.py" make "$tmp/store" || exit 1
must_mount "$tmp/store" endian=little
"$python" "$here/pcodec.py" check "$mnt" || fail "arrays differ"
eventually 60 grep -q "codec 'pcodec': chunk 1 of the stream: truncated in 'type'" "$log" || fail "the log names no field: $(tail -n 3 "$log")"
same "the reason" "$(getfattr --only-values -n user.zarrfs.error "$mnt/twice/walk-f4" 2>/dev/null)" \
	"codec 'numcodecs.pcodec': a second one that makes bytes of elements"
exit $((failures != 0))

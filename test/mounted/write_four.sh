#!/bin/bash
# Four writers append rows to different variables of one group at once, two of them in either mount of one directory: in Zarr V2 with NCZarr's metadata,
# and in shards.
. "$(dirname "$0")/functions.sh"

"$python" -c 'import zarr' 2>/dev/null || skip "no zarr-python"
for form in v2 shards; do
	export STORES_FORM=$form
	"$python" "$here/four_writers.py" make "$tmp/$form" || exit 1
	four_writers "$tmp/$form"
done

#!/bin/bash
# Four writers append rows to different variables of one group at once, two of them in either mount of one directory, with NCZarr's metadata.
. "$(dirname "$0")/functions.sh"

"$python" -c 'import zarr' 2>/dev/null || skip "no zarr-python"
"$python" "$here/four_writers.py" make "$tmp/store.zarr" || exit 1
four_writers "$tmp/store.zarr"

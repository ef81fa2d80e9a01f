#!/bin/bash
# Random arrays that zarr-python wrote: every dtype, order, chunk shape, codec, filter, fill value, with parts never written; in one mount
# above them all, in one of a store with consolidated metadata, and in little memory. SEED and COUNT may be given.
. "$(dirname "$0")/functions.sh"

"$python" "$here/random_stores.py" make "$tmp/all" "${SEED:-1}" "${COUNT:-400}" || exit 1
for options in endian=little endian=big,memory=64M,consolidated=ignore endian=stored; do
	must_mount "$tmp/all" "$options"
	"$python" "$here/random_stores.py" check "$tmp/all" "$mnt" "$options" || fail "see above ($options)"
	umount_store
done
must_mount "$tmp/all/consolidated.zarr" endian=little,consolidated=trust
"$python" "$here/random_stores.py" check "$tmp/all/consolidated.zarr" "$mnt" endian=little || fail "see above (consolidated=trust)"

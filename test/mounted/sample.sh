#!/bin/bash
# The committed sample store: every flat file holds what it should, and nothing else is there.
. "$(dirname "$0")/functions.sh"

must_mount "$data/sample.zarr" endian=little,list=flat
(cd "$mnt" && sha256sum --quiet -c "$data/sample.sha256") || fail "bytes differ"
same "the list of files" "$(cd "$mnt" && find . -type f -printf '%P\n' | LC_ALL=C sort)" \
	"$(sed 's/^[^ ]*  //' "$data/sample.sha256" | LC_ALL=C sort)"

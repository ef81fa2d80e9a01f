#!/bin/bash
# An Icechunk manifest of 1.1 million references, 57 MB: what a first value asks of the store, and that the daemon stays below memory= + 32 MiB with it, while the
# chunks that are kept fill what remains, though no name is looked up meanwhile.
. "$(dirname "$0")/functions.sh"

unset MALLOC_PERTURB_ # by which malloc writes into all that is given back, and takes memory of its own
"$python" "$here/icechunk_large.py" make "$tmp/repo" || exit 1
must_mount "trace+file://$tmp/repo" memory=128M,metadata_ttl=60
# there FIELD...: of the objects that were asked for and are there
there() { sed -n 's/^trace: get\t\([^\t/]*\)[^\t]*\t[^\t]*\tok\t.*/\1/p' "$log" | xargs; }
ls "$mnt" >/dev/null
# shellcheck disable=SC2317 # by eventually
first_there() { [ "$(there)" = "repo snapshots" ]; }
eventually 60 first_there || fail "what a mount and ls ask for is '$(there)'"
exec 5<"$mnt/a"
same "a value" "$(tail -c +$((4096 * 1099999 + 1)) <&5 | od -An -tu1 -N1 | xargs)" $((1099999 % 1000 % 251))
# shellcheck disable=SC2317 # by eventually
all_there() { [ "$(there)" = "repo snapshots manifests chunks" ]; }
eventually 60 all_there || fail "what a first value asks for is '$(there)'"
"$python" "$here/icechunk_large.py" read 5 || fail "30,000 chunks"
exec 5<&-
same "manifests that are read" "$(there | tr ' ' '\n' | grep -c manifests)" 1
echo "peak memory of the daemon: $(peak_memory) KiB; the cache: $(stat_value cache_bytes) bytes"
sanitized || [ "$(peak_memory)" -le $(((128 + 32) * 1024)) ] || fail "the daemon took $(peak_memory) KiB with memory=128M"
exit $((failures != 0))

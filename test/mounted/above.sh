#!/bin/bash
# A directory above stores, with 100,000 objects, stores and archives: ls costs its listing and little memory, ls -l one question for
# each object, and what lies there is itself.
# shellcheck disable=SC2012 # it is ls that is looked at
. "$(dirname "$0")/functions.sh"

keys=100000 dirs=300
sanitized && keys=5000
"$python" - "$tmp/above" $keys $dirs <<'END' || exit 1
import os, sys, zipfile
top, keys, dirs = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
os.makedirs(top + "/keys")
open(top + "/first", "w").write("text")
for i in range(keys):
    if i % 30000 == 0:
        first = "%s/keys/key-%06d" % (top, i)
        open(first, "w").write("12345")
    else:
        os.link(first, "%s/keys/key-%06d" % (top, i))
for i in range(dirs):
    path = "%s/stores/s%03d" % (top, i)
    os.makedirs(path + "/v")
    open(path + "/.zgroup", "w").write('{"zarr_format": 2}')
    open(path + "/v/.zarray", "w").write('{"zarr_format": 2, "shape": [4], "chunks": [4], "dtype": "<i4", "compressor": null,'
                                         ' "fill_value": 7, "filters": null, "order": "C"}')
with zipfile.ZipFile(top + "/stores/x.zarr.zip", "w") as archive:
    archive.write(top + "/stores/s000/.zgroup", ".zgroup")
END

# quiet: until what was asked for is in the log
quiet()
{
	local before=
	until [ "$before" = "$(wc -l <"$log")" ]; do
		before=$(wc -l <"$log")
		sleep 0.3
	done
}

# asked [REGEX]: how often the store was, since forget
asked()
{
	quiet
	tail -n "+$((seen + 1))" "$log" | grep -cE "^trace: ${1:-.}"
}

forget()
{
	quiet
	seen=$(wc -l <"$log")
}

what()
{
	tail -n "+$((seen + 1))" "$log" | head -20
}

must_mount "trace+file://$tmp/above" metadata_ttl=3600 # a busy machine takes its time for 100,000 names
forget
same "ls" "$(ls "$mnt")" "first
keys
stores"
[ "$(asked)" -le 2 ] || fail "ls asked $(what)"
before=$(awk '$1 == "VmRSS:" { print $2 }' "/proc/$daemon/status")
ls "$mnt/keys" >/dev/null # also learns what keys is
forget
same "ls of many keys" "$(ls "$mnt/keys" | wc -l)" $keys
[ "$(asked)" -le 2 ] || fail "ls of $keys keys asked $(asked) times: $(what)"
grew=$(($(peak_memory) - before))
echo "ls of $keys keys: $(asked) requests, $grew KiB more memory"
sanitized || [ $grew -le 24576 ] || fail "ls of $keys keys took $grew KiB more memory"
forget
same "sizes of keys" "$(ls -l "$mnt/keys" | awk 'NR > 1 { print $5 }' | sort | uniq -c | xargs)" "$keys 5"
[ "$(asked)" -le $((keys + 40)) ] || fail "ls -l of $keys keys asked $(asked) times"
forget
same "ls of stores" "$(ls "$mnt/stores" | wc -l)" $((dirs + 1))
[ "$(asked list)" -le 2 ] || fail "ls of $dirs stores asked $(asked list) times for a listing"
[ "$(asked)" -le 12 ] || fail "ls of $dirs stores asked $(asked) times: $(what)"
same "an archive" "$(sha256sum <"$mnt/stores/x.zarr.zip")" "$(sha256sum <"$tmp/above/stores/x.zarr.zip")"
same "a variable" "$(od -A n -t d4 "$mnt/stores/s007/v" | xargs)" "7 7 7 7"
same "an object" "$(cat "$mnt/first")" text

umount_store

# an object that becomes a store is one, and one that is gone is gone
must_mount "$tmp/above" metadata_ttl=1
same "an object" "$(ls "$mnt" >/dev/null; cat "$mnt/first"; cat "$mnt/keys/key-000001")" text12345
rm "$tmp/above/first"
cp -r "$tmp/above/stores/s001" "$tmp/above/first"
ls "$mnt" >/dev/null
eventually 60 test -d "$mnt/first" || fail "what became a store is still an object"
rm "$tmp/above/keys/key-000001"
eventually 60 test ! -e "$mnt/keys/key-000001" || fail "a key that is gone is still there"
umount_store
exit $((failures != 0))

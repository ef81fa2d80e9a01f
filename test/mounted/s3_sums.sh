#!/bin/bash
# What an object store says of the bytes of an object is compared with them: by CRC where nothing else is said. nginx stands for a store that
# keeps checksums, and for one that refuses to be asked for them.
. "$(dirname "$0")/functions.sh"
. "$here/s3_functions.sh"
. "$here/nginx_functions.sh"
[ -n "$nginx" ] || skip "nginx is not installed"

mkdir -p "$tmp/www/bucket"
store=$tmp/www/bucket/store.zarr
"$python" - "$store" "$tmp/sums" "$here" <<'END' || exit 1
import base64
import os
import sys
import zlib

import numpy as np

sys.path.insert(0, sys.argv.pop())
import stores

store, sums = sys.argv[1:]
for name in "bc":
    stores.put(store, name, np.arange(64, dtype="<i4"), chunks=(64,), compressor=None)
stores.put(store, "a", np.arange(64 * 64, dtype="<i4").reshape(64, 64), chunks=(8, 64), compressor=None)
stores.consolidate(store)
with open(sums, "w") as out:
    for where, _, files in os.walk(store):
        for name in files:
            path = os.path.join(where, name)
            crc = zlib.crc32(open(path, "rb").read())
            out.write("/bucket/store.zarr/%s %s;\n" % (os.path.relpath(path, store), base64.b64encode(crc.to_bytes(4, "big")).decode()))
END
port=$(free_port)
refusing=$(free_port)
nginx_serves <<END_OF_CONF
  log_format short '\$server_port \$request_method \$uri \$status';
  access_log $tmp/access.log short;
  map \$uri \$sum { include $tmp/sums; }
  map \$http_x_amz_checksum_mode \$told { ENABLED \$sum; }
  server { listen 127.0.0.1:$port; root $tmp/www; add_header x-amz-checksum-crc32 \$told; }
  server { listen 127.0.0.1:$refusing; root $tmp/www; if (\$http_x_amz_checksum_mode) { return 501; } }
END_OF_CONF
begin_nginx "http://127.0.0.1:$port/bucket/store.zarr/.zmetadata"
trap 'kill $web 2>/dev/null; finish' EXIT

# shellcheck disable=SC2317 # by eventually
marked()
{
	grep -q "GET /mark-$1 " "$tmp/access.log"
}

# gets PORT REGEX: how many requests were answered, the server writes of each before it takes the next
gets()
{
	local mark
	mark=$(date +%s%N)
	curl -s -o /dev/null "http://127.0.0.1:$1/mark-$mark"
	eventually 60 marked "$mark" || fail "nginx logs nothing"
	grep -cE "^$1 GET $2" "$tmp/access.log"
}

cat "$store"/a/{0..7}.0 >"$tmp/want"
open_at()
{
	: >"$tmp/access.log"
	AWS_ENDPOINT_URL_S3=http://127.0.0.1:$1 must_mount s3://bucket/store.zarr "profile=anon${2:+,$2}"
}

open_at "$port"
cmp "$mnt/a" "$tmp/want" || fail "other bytes"
same "requests for 8 chunks" "$(gets "$port" ".*/a/[0-7].0 200")" 8
umount_store

open_at "$refusing"
cat "$mnt/b" "$mnt/c" >/dev/null || fail "one chunk after the other" # those of a may be asked for together
cmp "$mnt/a" "$tmp/want" || fail "other bytes"
same "requests for 8 chunks of a store that keeps no checksums" "$(gets "$refusing" ".*/a/[0-7].0 200")" 8
same "requests that it refused" "$(gets "$refusing" ".* 501")" 3
umount_store

printf x | dd of="$store/a/3.0" bs=1 seek=1000 conv=notrunc status=none
open_at "$port"
cat "$mnt/a" >"$tmp/got" 2>/dev/null && fail "damaged bytes are read"
cmp -n "$(stat -c %s "$tmp/got")" "$tmp/got" "$tmp/want" || fail "wrong bytes"
grep -q "a/3.0' came damaged twice: its checksum is crc32=" "$mnt/.zarrfs/log" || fail "the log says '$(cat "$mnt/.zarrfs/log")'"
umount_store
open_at "$port" verify=false
cat "$mnt/a" >"$tmp/got" || fail "verify=false: not read"
cmp -s "$tmp/got" "$tmp/want" && fail "verify=false: bytes are compared"
umount_store

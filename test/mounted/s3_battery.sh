#!/bin/bash
# What every store keeps to (test/unit/store_battery.c, write_battery.c), by a real S3 server, over both transports where there are two.
. "$(dirname "$0")/functions.sh"
. "$here/s3_functions.sh"

begin_radosgw
s3 make bucket
export ZARRFS_TEST_S3=$S3_ENDPOINT/bucket
for battery in "${ZARRFS_BATTERY:-$here/../../build/test/unit/test_store_battery}" "${ZARRFS_WRITE_BATTERY:-$here/../../build/test/unit/test_write_battery}"; do
	"$battery" 2>"$tmp/said" || fail "$battery: $(grep -v '^trace: ' "$tmp/said")"
done

# answers that are lost after the server did what they are about
begin_proxy
fault "kind=lost&match=^PUT&every=4"
fault "kind=lost&match=^DELETE&every=3"
fault "kind=status&match=^(PUT|DELETE)&every=5"
ZARRFS_TEST_S3=$PROXY/bucket "${ZARRFS_WRITE_BATTERY:-$here/../../build/test/unit/test_write_battery}" 2>"$tmp/said" || fail "lost answers: $(grep -v '^trace: ' "$tmp/said")"
[ "$(requests 'PUT .* lost$')" -gt 5 ] || fail "no answer was lost: $(asked)"

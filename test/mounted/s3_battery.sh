#!/bin/bash
# What every store keeps to (test/unit/store_battery.c), by a real S3 server, over both transports where there are two.
. "$(dirname "$0")/functions.sh"
. "$here/s3_functions.sh"

begin_radosgw
s3 make bucket
ZARRFS_TEST_S3=$S3_ENDPOINT/bucket "${ZARRFS_BATTERY:-$here/../../build/test/unit/test_store_battery}" 2>"$tmp/said" || fail "$(grep -v '^trace: ' "$tmp/said")"

#!/bin/bash
# Flat files of a bucket that are written against the model of write_model.py, and by two mounts to the same chunks; rows that are appended
# to different variables of a group by four writers.
. "$(dirname "$0")/functions.sh"
. "$here/s3_functions.sh"

"$python" -c 'import zarr, numcodecs' 2>/dev/null || skip "no zarr-python"
begin_radosgw
s3 make bucket
"$python" "$here/write_model.py" make "$tmp/model.zarr" || exit 1
s3 put "$tmp/model.zarr" bucket/model.zarr

must_mount s3://bucket/model.zarr rw
first=$mnt
"$python" "$here/write_model.py" run s3: "$first" "${WRITE_SEED:-$$}" "${WRITE_STEPS:-60}" "$tmp/left" || fail "seed ${WRITE_SEED:-$$}"
must_mount s3://bucket/model.zarr rw
"$python" "$here/two_writers.py" "$first/f4_big" "$mnt/f4_big" || fail "two mounts"
for at in "$first" "$mnt"; do
	umount_store "$at"
done

# what was stored is what another mount reads
must_mount s3://bucket/model.zarr
"$python" - "$mnt" "$tmp/left" <<'END' || fail "another mount reads something else"
import os
import pickle
import sys
left = pickle.load(open(sys.argv[2], "rb"))
for k in range(40):
    left["f4_big"] = left["f4_big"][:100 * k] + bytes([k + 1]) * 100 + left["f4_big"][100 * k + 100:]
for name, want in left.items():
    assert open(os.path.join(sys.argv[1], name), "rb").read() == want, name
END
umount_store

# a row behind a gap, where the server does not say which chunks there are none of
begin_proxy
"$python" - "$tmp/rows" <<'END' || exit 1
import sys
import as_v3
import zarr3
as_v3.save(sys.argv[1] + "/zarr.json", zarr3.group())
as_v3.save(sys.argv[1] + "/v/zarr.json", zarr3.array((2, 4), (2, 4), "uint8", 7, [zarr3.LITTLE], dims=["time", "x"]))
END
s3 put "$tmp/rows" bucket/rows
must_mount s3://bucket/rows rw,unlimited=time
od "$mnt/v" >/dev/null
fault 'kind=status&status=403&match=HEAD .*/v/c'
printf 'abcdefgh' | dd of="$mnt/v" bs=8 seek=2 conv=notrunc,fsync status=none || fail "no row of a bucket that tells little is written"
calm
umount_store
must_mount s3://bucket/rows
same "rows of a bucket that tells little" "$(tail -c +9 "$mnt/v" | tr "\\7" -)" --------abcdefgh
umount_store
end_proxy
export AWS_ENDPOINT_URL_S3=$S3_ENDPOINT

# four writers append rows to different variables, two in either mount
for form in v2 shards; do
	export STORES_FORM=$form
	"$python" "$here/four_writers.py" make "$tmp/four.$form" || exit 1
	s3 put "$tmp/four.$form" "bucket/four.$form"
	four_writers "s3://bucket/four.$form" "s3:four.$form"
done

#!/bin/bash
# The conformance corpus, where there is one, from S3 and by plain HTTP: every V2 store in it, below one mount of the bucket, gives the bytes it is
# known to hold.
. "$(dirname "$0")/functions.sh"
. "$here/s3_functions.sh"

find_corpus
begin_radosgw
s3 make corpus public
export S3_PUBLIC=1
s3 put "$stores/synthetic_v2" corpus/synthetic_v2
must_mount s3://corpus endian=little
"$python" "$here/corpus.py" "$corpus/expected.tsv" "$stores" "$mnt" || fail "rows differ"
umount_store

# a web server lists nothing: consolidated metadata say what there is
"$python" - "$stores" "$tmp/.zmetadata" <<'END' || exit 1
import json, os, sys
top, metadata = sys.argv[1], {".zgroup": {"zarr_format": 2}}
for path, _, names in os.walk(os.path.join(top, "synthetic_v2")):
    for name in {".zarray", ".zattrs", ".zgroup"}.intersection(names):
        with open(os.path.join(path, name), encoding="utf8") as file:
            metadata[os.path.relpath(file.name, top)] = json.load(file)
with open(sys.argv[2], "w", encoding="utf8") as file:
    json.dump({"zarr_consolidated_format": 1, "metadata": metadata}, file)
END
s3 put "$tmp/.zmetadata" corpus/.zmetadata
must_mount "$S3_ENDPOINT/corpus#mode=zarr" endian=little
"$python" "$here/corpus.py" "$corpus/expected.tsv" "$stores" "$mnt" || fail "rows by HTTP differ"

#!/bin/bash
# New variables of a Zarr V3 store: documents, shards with their index and its checksum, and the same values again.
. "$(dirname "$0")/functions.sh"
needs ncgen ncdump od

# values FILE VARIABLE: as text
values()
{
	ncdump -v "$2" "$1" | sed -n '/^data:/,$p'
}

# alike FILE: variables of a netCDF file have the values of the one that was copied
alike()
{
	for v in "${@:2}"; do
		same "$v of $1" "$(values "$1" "$v" | md5sum)" "$(values "$tmp/x.nc" "$v" | md5sum)"
	done
}

{
	echo 'netcdf x { dimensions: time = UNLIMITED; y = 30; x = 50; variables: double time(time); time:units = "days since 2000-01-01";'
	echo 'short t(time, y, x); t:_FillValue = -1s; t:scale_factor = 0.5f; float y(y); float u(y, x); u:_FillValue = NaNf; int crs; crs:name = "none";'
	echo ':title = "new"; data: crs = 7; time ='
	seq -s, 24
	echo '; y ='
	seq -s, 30
	echo '; t ='
	seq -s, 36000 | sed 's/\([0-9]\)\(000\)\?,/\1\2,/g; s/3[3-9][0-9][0-9][0-9]/_/g'
	echo '; u ='
	seq -s, 1500
	echo '; }'
} >"$tmp/x.cdl"
ncgen -o "$tmp/x.nc" "$tmp/x.cdl" || fail "ncgen"
"$ZARRFS" --create -o zarr_format=3 "$tmp/s.zarr" || fail "no store of V3"
must_mount "$tmp/s.zarr" rw,shard=64K,chunk=4K,unlimited=time
cp "$tmp/x.nc" "$mnt/dataset.nc" || fail "cp to dataset.nc: $(cat "$mnt/.zarrfs/log")"
mkdir "$mnt/g" || fail "mkdir"
cp "$tmp/x.nc" "$mnt/g/t.nc" || fail "cp to t.nc: $(cat "$mnt/.zarrfs/log")"
alike "$mnt/dataset.nc" t u crs time y
alike "$mnt/g/t.nc" t time y
same "the title" "$(getfattr --only-values -n user.title "$mnt" 2>/dev/null)" new
# a part of a chunk in a shard
for f in "$mnt/t" "$tmp/t"; do
	[ -e "$f" ] || cp "$mnt/t" "$tmp/t"
	head -c 1000 /dev/zero | dd of="$f" bs=1000 seek=21 conv=notrunc status=none || fail "dd"
done
umount_store

must_mount "$tmp/s.zarr" unlimited=time
cmp "$mnt/t" "$tmp/t" || fail "a part of a shard was written wrongly"
alike "$mnt/dataset.nc" u crs time y
alike "$mnt/g/dataset.nc" t time y
umount_store

"$python" - "$tmp/s.zarr" <<'END' || fail "what is stored"
import glob, json, struct, sys

def crc32c(data):
    crc = 0xFFFFFFFF
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ (0x82F63B78 if crc & 1 else 0)
    return crc ^ 0xFFFFFFFF

def document(name):
    return json.load(open(f"{sys.argv[1]}/{name}/zarr.json", encoding="utf8"))

group, t, u, crs = (document(name) for name in ("g", "t", "u", "crs"))
assert group["node_type"] == "group" and group["zarr_format"] == 3, group
assert t["shape"] == [24, 30, 50] and t["data_type"] == "int16" and t["dimension_names"] == ["time", "y", "x"], t
assert t["fill_value"] == -1 and t["attributes"] == {"_FillValue": -1, "scale_factor": 0.5}, t
assert u["fill_value"] == "NaN" and u["attributes"]["_FillValue"] == "AAAAAAAA+H8=", u
assert crs["shape"] == [] and crs["codecs"][0]["name"] == "bytes", crs
(shard,) = t["codecs"]
how = shard["configuration"]
outer, inner = t["chunk_grid"]["configuration"]["chunk_shape"], how["chunk_shape"]
assert shard["name"] == "sharding_indexed" and how["index_location"] == "end", shard
assert [c["name"] for c in how["index_codecs"]] == ["bytes", "crc32c"], how
assert all(o % i == 0 for o, i in zip(outer, inner)) and outer != inner, (outer, inner)
chunks = 1
for o, i in zip(outer, inner):
    chunks *= o // i
files = [f for f in glob.glob(f"{sys.argv[1]}/t/c/**", recursive=True) if f.rsplit("/", 1)[1].isdigit() and f.count("/t/c/") and len(f.rsplit("/c/")[1].split("/")) == 3]
assert files, "no shards"
for f in files:
    data = open(f, "rb").read()
    index = data[-16 * chunks - 4:]
    assert struct.unpack("<I", index[-4:])[0] == crc32c(index[:-4]), f
    for at, size in struct.iter_unpack("<QQ", index[:-4]):
        assert at == size == 2**64 - 1 or at + size <= len(data) - len(index), (f, at, size)
END

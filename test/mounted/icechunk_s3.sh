#!/bin/bash
# Icechunk repositories on S3, at the root and in a folder: values, versions after a listing that does not show them, what is asked of the
# server for 500 arrays, and that nothing is listed or asked twice.
. "$(dirname "$0")/functions.sh"
. "$here/s3_functions.sh"

"$python" "$here/icechunk_files.py" "$tmp/two" 2 2 || exit 1
"$python" "$here/icechunk_files.py" "$tmp/one" 1 2 || exit 1
begin_radosgw
s3 make bucket
s3 put "$tmp/two" bucket/two
s3 put "$tmp/one" bucket/in/one
for spec in 1 2; do
	"$python" "$here/icechunk_files.py" "$tmp/many$spec" $spec 1 "" 500 || exit 1
	s3 put "$tmp/many$spec" bucket/many$spec
done
begin_proxy

# integers FILE
integers()
{
	od -An -v -td4 "$1" | xargs
}

# counts WHAT WANT REGEX: requests since forget
counts()
{
	[ "$(requests "$3")" = "$2" ] || fail "$1: $(requests "$3") requests, not $2: $(asked)"
}

# what is there, besides the probes: .zmetadata, then zarr.json, repo and refs/branch.main/ref.json together, of which one is there
for spec in 1 2; do
	forget
	must_mount s3://bucket/many$spec
	same "arrays (spec $spec)" "$(find "$mnt/many" -name 'a*.nc' -printf '%s\n' | wc -l)" 500
	ls -lR "$mnt" >/dev/null
	counts "a snapshot" 1 '^GET [^ ]*/snapshots/'
	counts "what says which (spec $spec)" 1 '^GET [^ ]*/(repo|ref.json) [^ ]* 20'
	counts "mount and ls -lR (spec $spec)" 5 .
	same "the first value" "$(integers "$mnt/many/a007")" 7
	counts "a manifest" 1 '^GET [^ ]*/manifests/'
	counts "the first value" 6 .
	same "a native chunk" "$(integers "$mnt/n")" "-1 -1 7 8"
	counts "a manifest and a chunk" 8 .
	ls -lR "$mnt" >/dev/null
	same "another value of that manifest" "$(integers "$mnt/many/a008") $(integers "$mnt/n")" "8 -1 -1 7 8"
	counts "what was asked for before" 8 .
	counts "what is listed (spec $spec)" 0 'list-type|prefix='
	umount_store
done

# a version that is named: no probe for anything else
for spec in 1 2; do
	forget
	must_mount "s3://bucket/many$spec#branch=main"
	same "a value of a branch" "$(integers "$mnt/n")" "-1 -1 7 8"
	counts "a chunk of a branch: repo, ref.json, snapshot, manifest, chunk" 5 .
	same "an array of three chunks" "$(integers "$mnt/g/big" | md5sum)" "$(seq 1000 1299 | xargs | md5sum)"
	counts "four chunks, and four requests" 8 .
	umount_store
done

# versions cost what they mean, and no more: a ref and its mark, or nothing but the snapshot; a moment a snapshot
for store in two in/one; do
	must_mount s3://bucket/$store
	same "a of $store" "$(integers "$mnt/a")" "2 3 4 5"
	forget
	same "a moment of $store" "$(integers "$mnt/@2026-01-02T12:00/a")" "1 2 3 4"
	counts "a moment: a snapshot and a manifest" 2 .
	same "a tag of $store" "$(integers "$mnt/@tag.v1/a")" "1 2 3 4"
	counts "a tag of that snapshot" "$([ $store = two ] && echo 2 || echo 4)" .
	umount_store
done

must_mount s3://bucket/two
same "names" "$(ls -m "$mnt")" "a, a.nc, g, n, n.nc"
same "the newest" "$(integers "$mnt/a")" "2 3 4 5"
same "a tag" "$(integers "$mnt/@tag.v1/a")" "1 2 3 4"
same "a branch" "$(integers "$mnt/@branch.dev/a")" "1 2 3 4"
for name in @tag.nope @tag.v1/@tag.v1 g/@tag.v1 @ZZZ @tag.v1/g/nope nope; do
	[ ! -e "$mnt/$name" ] || fail "'$name' is there"
done
umount_store
must_mount s3://bucket/in
same "names in a folder" "$(ls -m "$mnt/one")" "a, a.nc, g, n, n.nc"
same "a tag in a folder" "$(integers "$mnt/one/@tag.v1/a")" "1 2 3 4"
umount_store
exit $((failures != 0))

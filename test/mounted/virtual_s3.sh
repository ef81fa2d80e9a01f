#!/bin/bash
# References to what lies elsewhere, on S3 and behind a web server: Icechunk's, held against ETags and times, and kerchunk's beside their own file; only where the user
# permits it, elsewhere where the user says so, never the fill value; and what they cost.
. "$(dirname "$0")/functions.sh"
. "$here/s3_functions.sh"

integers() { od -An -v -td4 "$1" 2>"$tmp/why" | xargs; }
make() { "$python" "$here/icechunk_files.py" "$@" || exit 1; }
ones="16843009 16843009 16843009 16843009"

begin_radosgw
export S3_PUBLIC=1
head -c 24 /dev/zero | tr '\0' '\1' >"$tmp/source"
s3 make src public
s3 make bucket public
s3 put "$tmp/source" src/dir/source
etag=$(s3 head src/dir/source | sed -n 's/^etag: *"\{0,1\}\([0-9a-f]*\).*/\1/Ip')
[ ${#etag} = 32 ] || fail "no ETag: $(s3 head src/dir/source)"
web=$S3_ENDPOINT/src/dir/source
touch -d '2020-01-01' "$tmp/old"
touch -d 'tomorrow' "$tmp/new"
make "$tmp/r/same" 2 1 "$tmp/source" 0 s3://src/dir/source "$etag"
make "$tmp/r/other" 2 1 "$tmp/source" 0 s3://src/dir/source d41d8cd98f00b204e9800998ecf8427e
make "$tmp/r/newer" 1 1 "$tmp/new" 0 s3://src/dir/source
make "$tmp/r/older" 1 1 "$tmp/old" 0 s3://src/dir/source
make "$tmp/r/gone" 2 1 "$tmp/source" 0 s3://src/dir/gone "$etag"
make "$tmp/r/web" 2 1 "$tmp/source" 0 "$web" "$etag"
make "$tmp/r/webolder" 2 1 "$tmp/old" 0 "$web"
s3 put "$tmp/r" bucket/r
begin_proxy

for repo in same newer web; do
	"$ZARRFS" --cat s3://bucket/r/$repo v >"$tmp/got" 2>"$tmp/why" && fail "$repo is read without permission"
	option=$(sed -n 's/.* -o \(virtual=.*\)/\1/p' "$tmp/why")
	same "what would permit $repo" "$option" "virtual=$([ $repo = web ] && echo "${web%/*}/" || echo s3://src/dir/)"
	must_mount s3://bucket/r/$repo "endian=little,$option"
	same "$repo" "$(integers "$mnt/v")" "$ones"
	umount_store
done
for repo in other older gone webolder; do
	must_mount s3://bucket/r/$repo "endian=little,virtual=s3://src,virtual=$S3_ENDPOINT/src"
	cat "$mnt/v" >"$tmp/got" 2>/dev/null && fail "$repo: what it does not mean is read"
	same "bytes of $repo" "$(stat -c %s "$tmp/got")" 0
	eventually 60 grep -qE "not what the reference|changed after|not there" "$log" || fail "the reason for $repo: $(cat "$log")"
	umount_store
done
must_mount s3://bucket/r/gone "endian=little,virtual=s3://src/=>s3://nowhere/x,virtual=s3://src/dir/gone/=>s3://nowhere/y,virtual=s3://src/dir=>$tmp/copy"
mkdir "$tmp/copy"
cp "$tmp/source" "$tmp/copy/gone"
same "a copy of what is gone" "$(integers "$mnt/v")" "$ones"
umount_store

# a source that changes while it is mounted is never a mixture, nor anything else
must_mount s3://bucket/r/same "endian=little,virtual=s3://src"
forget
same "before" "$(integers "$mnt/v")" "$ones"
same "requests for a virtual chunk" "$(asked | grep -cE '^GET [^ ]*/src/')" 1
head -c 24 /dev/zero | tr '\0' '\2' >"$tmp/source"
s3 put "$tmp/source" src/dir/source
umount_store
must_mount s3://bucket/r/same "endian=little,virtual=s3://src"
cat "$mnt/v" >"$tmp/got" 2>/dev/null && fail "a changed source is read: $(integers "$tmp/got")"
umount_store

# kerchunk: sets and what lies beside them
"$python" "$here/kerchunk.py" make "$tmp" || exit 1
s3 put "$tmp/set" bucket/set
for set in s3://bucket/set "$S3_ENDPOINT/bucket/set"; do
	for refs in v0.json packed packed.json.zst refs.parq; do
		url=$set/$refs
		[ $refs != packed ] || url+="#mode=kerchunk"
		forget
		must_mount "$url" "endian=big,virtual=$set,virtual=$tmp/set" # the second for references with a path
		for name in temp scalar time wind whole gaps inline b64; do
			cmp "$tmp/want/$name" "$mnt/$name" || fail "$url: '$name' differs"
		done
		umount_store
		same "listings for $url" "$(requests 'list-type|prefix=')" 0
	done
done
exit $((failures != 0))

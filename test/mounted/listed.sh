#!/bin/bash
# A bucket above stores: `ls -l` of objects costs their listing, and what the listing said is not believed for longer than anything else.
# Stores are looked at together for a program that walks through them in order, and for no other.
# shellcheck disable=SC2012 # it is ls that is looked at
. "$(dirname "$0")/functions.sh"
. "$here/s3_functions.sh"

begin_radosgw
s3 make bucket
mkdir "$tmp/objects"
for i in {100..149}; do
	head -c "$i" /dev/zero >"$tmp/objects/o$i"
done
s3 put "$tmp/objects" bucket/objects
for i in {100..139}; do
	mkdir -p "$tmp/stores/s$i/v"
	by_form '{"zarr_format": 2}' '{"zarr_format": 3, "node_type": "group", "attributes": {}}' >"$tmp/stores/s$i/$(by_form .zgroup zarr.json)"
	echo object >"$tmp/stores/s$i.txt"
done
s3 put "$tmp/stores" bucket/stores
begin_proxy

must_mount s3://bucket
ls "$mnt" >/dev/null
forget
same "sizes" "$(ls -l "$mnt/objects" | awk 'NR > 1 { print $5 }' | xargs)" "$(seq 100 149 | xargs)"
same "times" "$(find "$mnt/objects" -type f -newermt '2 hours ago' | wc -l)" 50
same "HEAD" "$(requests '^HEAD')" 0
[ "$(requests)" -le 4 ] || fail "ls -l of 50 objects: $(requests) requests: $(asked)"
cmp "$mnt/objects/o100" "$tmp/objects/o100" || fail "o100"
same "HEAD when one is opened" "$(requests '^HEAD')" 1

# an object that was replaced since is read as it is now by the program that opens it, and by all programs from then on
for text in longer-than-before "$(head -c 102 /dev/zero | tr '\0' x)"; do
	printf %s "$text" >"$tmp/new"
	s3 put "$tmp/new" bucket/objects/o102
	same "an object that was replaced after it was listed" "$(cat "$mnt/objects/o102")" "$text"
	same "its size" "$(stat -c %s "$mnt/objects/o102")" ${#text}
done
s3 rm bucket/objects/o103
! cat "$mnt/objects/o103" 2>/dev/null || fail "an object that was removed after it was listed is read"
! test -e "$mnt/objects/o103" || fail "an object that could not be opened since it is gone is there"
printf other >"$tmp/new"
s3 put "$tmp/new" bucket/objects/o104
cat "$mnt/.zarrfs/refresh" >/dev/null
same "size after refresh" "$(stat -c %s "$mnt/objects/o104")" 5
umount_store

# what was listed gets no older than the TTL
must_mount s3://bucket metadata_ttl=3
ls "$mnt/objects" >/dev/null
printf 'other once more' >"$tmp/new"
s3 put "$tmp/new" bucket/objects/o104
is_new()
{
	[ "$(stat -c %s "$mnt/objects/o104")" = 15 ]
}
eventually 10 is_new || fail "an object that was replaced after it was listed is $(stat -c %s "$mnt/objects/o104") bytes after its time"
umount_store

must_mount s3://bucket
ls "$mnt/stores" >/dev/null
forget
for i in 130 110 120 111 132; do
	test -d "$mnt/stores/s$i" || fail "s$i is no directory"
done
[ "$(requests)" -le 10 ] || fail "five stores of many: $(requests) requests: $(asked)"
! getfattr --only-values -n user.zarrfs.error "$mnt/stores/s130" 2>/dev/null || fail "the metadata of a store that was listed"
forget
fault "kind=latency&seconds=0.1"
same "directories" "$(ls -l "$mnt/stores" | grep -c '^d.* s1[0-9]*$')" 40
same "objects" "$(ls -l "$mnt/stores" | grep -c '^-.* 7 .* s1[0-9]*[.]txt$')" 40
calm
peak=$(curl -s "$PROXY/-/counts" | sed 's/.*"peak": *\([0-9]*\).*/\1/')
[ "$peak" -ge 5 ] || fail "ls -l of 40 stores: at most $peak requests at once"
[ "$(requests)" -le 85 ] || fail "ls -l of 40 stores: $(requests) requests: $(asked)"
umount_store

# one of them that is refused is so for itself
must_mount s3://bucket
ls "$mnt/stores" >/dev/null
fault "kind=status&status=403&match=stores(/|%2F)s119(/|%2F)"
same "directories beside one that is refused" "$(ls -l "$mnt/stores" 2>"$tmp/said" | grep -c '^d.* s1[0-9]*$')" 39
same "complaints" "$(grep -c s119 "$tmp/said")" 1
calm
umount_store

#!/bin/bash
# How a store is found out, counted at S3 and behind a web server: what may tell is asked for together, nothing twice, and nothing is listed
# where that is not needed; which store it is where several lie in one place; what is said where one of the objects is refused or does not come.
. "$(dirname "$0")/functions.sh"
. "$here/s3_functions.sh"
needs curl

mkdir "$tmp/www"
cd "$tmp/www" || exit 1
"$python" "$here/s3.py" store consolidated "$tmp/want" || exit 1
cp -r consolidated loose
rm loose/.zmetadata
"$python" "$here/zarr3.py" make inline || exit 1
cp -r inline three
"$python" -c '
import json
with open("three/zarr.json", "r+") as file:
    document = json.load(file)
    del document["consolidated_metadata"]
    file.seek(0)
    file.truncate()
    json.dump(document, file)' || exit 1
"$ZARRFS" --cat three t2m >"$tmp/t2m" || fail "t2m"
cp -r three both
cp -r loose/. both
"$python" "$here/icechunk_files.py" one 1 2 || exit 1
"$python" "$here/icechunk_files.py" two 2 2 || exit 1
begin_radosgw
s3 make bucket
for store in *; do
	s3 put "$store" "bucket/$store"
done
cd / || exit 1
begin_proxy

# counts WHAT WANT REGEX: requests since forget
counts()
{
	[ "$(requests "$3")" = "$2" ] || fail "$1: $(requests "$3") requests, not $2: $(asked)"
}

# mounts STORE COUNT [LISTED]: so many requests, none of them twice
mounts()
{
	forget
	must_mount "$1"
	counts "mounting $1" "$2" .
	counts "listings of $1" "${3:-0}" list-type
	same "what was asked twice of $1" "$(asked | awk '{ print $2 }' | sort | uniq -d)" ""
}

# tells STORE NAME LATE OTHER...: while LATE does not come, the others are asked for; then NAME is read
tells()
{
	local other reader store=$1 name=$2 late=$3
	shift 3
	forget
	fault "kind=stall&match=${store##*/}/$late\$"
	"$ZARRFS" --cat "$store" "$name" >/dev/null 2>"$tmp/said" &
	reader=$!
	# shellcheck disable=SC2317 # by eventually
	all_come()
	{
		for other; do
			[ "$(requests "GET [^ ]*/$other ")" = 1 ] || return 1
		done
	}
	eventually 60 all_come "$@" || fail "$store, of which $late does not come: not all of $* are asked for: $(asked)"
	calm
	wait $reader || fail "$store, of which $late came late: $(cat "$tmp/said")"
}

# finds WHERE: each of the stores there, with so many requests
finds()
{
	mounts "$1/consolidated" 1
	cmp "$mnt/lat" "$tmp/want/lat" || fail "lat of $1/consolidated"
	umount_store
	for store in inline three both; do
		mounts "$1/$store" 4
		counts "zarr.json of $store" 1 '^GET [^ ]*/zarr\.json [^ ]* 200 '
		[ $store != inline ] || "$python" "$here/zarr3.py" check "$mnt" || fail "$1/$store"
		cmp "$mnt/t2m" "$tmp/t2m" || fail "t2m of $1/$store"
		forget
		cat "$mnt/.zarrfs/refresh" >/dev/null
		stat "$mnt/t2m" >/dev/null || fail "t2m of $1/$store, after refresh"
		counts "$1/$store that is looked at again" 1 "/$store/zarr\.json "
		counts "objects of V2 in $1/$store that is looked at again" 0 "/$store/[.]z"
		umount_store
	done
	for spec in one two; do
		mounts "$1/$spec" 5
		counts "a snapshot of $spec" 1 '^GET [^ ]*/snapshots/'
		same "a of $1/$spec" "$(od -An -td4 "$mnt/a" | xargs)" "2 3 4 5"
		umount_store
	done
	tells "$1/three" t2m zarr.json repo refs/branch.main/ref.json
	tells "$1/three" t2m repo zarr.json refs/branch.main/ref.json
	tells "$1/three" t2m refs/branch.main/ref.json zarr.json repo
	tells "$1/loose" lat repo zarr.json refs/branch.main/ref.json
	"$ZARRFS" --cat "$1/both#mode=v2" lat | cmp - "$tmp/want/lat" || fail "#mode=v2"
	forget
	"$ZARRFS" --cat "$1/both#mode=v3" t2m | cmp - "$tmp/t2m" || fail "#mode=v3"
	counts "#mode=v3: objects that are no zarr.json" 0 '^GET [^ ]*/([.]z|repo|refs)'
}

# fails STORE QUERY REGEX: it is not mounted
fails()
{
	fault "$2"
	refused "$1" timeout=2 "$3"
	calm
}

finds s3://bucket
# loose: what may tell, a listing, what that names
mounts s3://bucket/loose 6 1
cmp "$mnt/lat" "$tmp/want/lat" || fail "lat of loose"
same "arrays of loose" "$(ls "$mnt" | grep -c '\.nc$')" 5
counts "listings of loose" 1 'list-type.*prefix=loose%2F '
umount_store
# the same where it is found below the top
mounts s3://bucket 5 1
same "arrays of loose in a bucket" "$(ls "$mnt/loose" | grep -c '\.nc$')" 5
counts "listings of loose in a bucket" 1 'list-type.*prefix=loose%2F '
umount_store
mounts s3://bucket 5 1
same "stores" "$(ls -m "$mnt")" "both, consolidated, inline, loose, one, three, two"
umount_store

three=s3://bucket/three
fails $three 'kind=status&status=403&code=AccessDenied&match=zarr.json' "cannot open store '$three': .*'zarr.json': HTTP status 403 AccessDenied"
fails $three 'kind=status&status=503&code=SlowDown&match=zarr.json' "cannot open store '$three': .*'zarr.json': HTTP status 503 SlowDown"
fails $three 'kind=stall&match=zarr.json' "cannot open store '$three': .*'zarr.json': .*no answer"
fails $three 'kind=status&status=503&code=SlowDown&match=/repo' "cannot open store '$three': .*'repo': HTTP status 503 SlowDown"
fails $three 'kind=stall&match=ref.json' "cannot open store '$three': .*ref.json': .*no answer"
# a refusal of what need not be there means no more than absence
for key in .zmetadata repo refs/branch.main/ref.json; do
	fault "kind=status&status=403&code=AccessDenied&match=$key"
	mounts $three 4
	cmp "$mnt/t2m" "$tmp/t2m" || fail "$three, of which $key is refused"
	umount_store
	calm
done
# nor does what is a repository wait for its zarr.json
for query in 'kind=stall' 'kind=status&status=503&code=SlowDown' 'kind=status&status=403&code=AccessDenied'; do
	fault "$query&match=/zarr.json"
	must_mount s3://bucket/two
	same "a of a repository whose zarr.json does not come" "$(od -An -td4 "$mnt/a" | xargs)" "2 3 4 5"
	umount_store
	calm
done

end_proxy
port=$(free_port)
"$python" -m http.server --protocol HTTP/1.1 --bind 127.0.0.1 --directory "$tmp/www" "$port" >/dev/null 2>&1 &
server=$!
trap 'kill $server 2>/dev/null; finish' EXIT
eventually 60 curl -fsS -o /dev/null "http://127.0.0.1:$port/consolidated/.zmetadata" 2>/dev/null || fail "Python's server does not answer"
begin_proxy "http://127.0.0.1:$port"
finds "$PROXY"
# loose: what may tell, all that V2 has, and NCZarr V1's
mounts "$PROXY/loose" 8
cmp "$mnt/lat" "$tmp/want/lat" || fail "lat of loose, behind a web server"
umount_store
exit $((failures != 0))

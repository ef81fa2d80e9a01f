#!/bin/bash
# Icechunk repositories of spec 1 and 2, in a directory, a zip archive and behind a web server: values of inline, native and virtual chunks, versions by name and time, commits while files are
# open, and that what is gone, short, changed or not permitted is an error and never fill values.
. "$(dirname "$0")/functions.sh"

integers() { od -An -v -td4 "$1" 2>"$tmp/why" | xargs; }
# refused WHAT FILE: reading it gives an error
refused()
{
	cat "$2" >"$tmp/got" 2>"$tmp/why" && fail "$1: '$2' can be read"
	[ ! -s "$tmp/got" ] || fail "$1: '$2' gave $(stat -c %s "$tmp/got") bytes"
}
make() { "$python" "$here/icechunk_files.py" "$@" || exit 1; }

# all_there STORE: the first two commits' values, by name of the version
all_there()
{
	local cat=("$ZARRFS" -o "endian=little,virtual=file://$tmp" --cat)
	same "a in $1" "$("${cat[@]}" "$1" a | od -An -td4 | xargs)" "2 3 4 5"
	same "n in $1" "$("${cat[@]}" "$1" n | od -An -td4 | xargs)" "-1 -1 7 8"
	same "g/big in $1" "$("${cat[@]}" "$1" g/big | od -An -v -td4 | xargs | md5sum)" "$(seq 1000 1299 | xargs | md5sum)"
	same "v in $1" "$("${cat[@]}" "$1" v | od -An -td4 | xargs)" "16843009 16843009 16843009 16843009"
	same "a in $1 by a tag" "$("${cat[@]}" "$1#tag=v1" a | od -An -td4 | xargs)" "1 2 3 4"
}

head -c 24 /dev/zero | tr '\0' '\1' >"$tmp/source"
touch -d '2026-01-01' "$tmp/source"
mkdir "$tmp/www"
"$python" -u -m http.server --bind 127.0.0.1 --directory "$tmp/www" 0 >"$tmp/server" 2>&1 &
server=$!
trap 'kill $server 2>/dev/null; finish' EXIT
# shellcheck disable=SC2317 # by eventually
serving() { grep -q "http://" "$tmp/server"; }
eventually 60 serving || fail "no web server: $(cat "$tmp/server")"
web=$(sed -n 's|.*(\(http://[^/]*\)/).*|\1|p' "$tmp/server")
for spec in 1 2; do
	repo=$tmp/repo$spec
	make "$repo" $spec 2 "$tmp/source"
	cp -r "$repo" "$tmp/www"
	(cd "$repo" && "$python" -m zipfile -c "$tmp/www/repo$spec.zip" ./*)
	for store in "$tmp/www/repo$spec.zip" "$web/repo$spec" "$web/repo$spec.zip"; do
		all_there "$store"
	done
	must_mount "$repo" endian=little,metadata_ttl=1,virtual="file://$tmp"
	same "names (spec $spec)" "$(cd "$mnt" && echo *)" "a a.nc g n n.nc v v.nc"
	same "inline chunks" "$(integers "$mnt/a")" "2 3 4 5"
	same "a missing and a native chunk" "$(integers "$mnt/n")" "-1 -1 7 8"
	same "packed chunks" "$(integers "$mnt/g/big" | md5sum)" "$(seq 1000 1299 | xargs | md5sum)"
	same "an array that had two dimensions" "$(integers "$mnt/g/was")" "-1 -1 9 10"
	same "a virtual chunk" "$(integers "$mnt/v")" "16843009 16843009 16843009 16843009"
	same "a tag" "$(integers "$mnt/@tag.v1/a")" "1 2 3 4"
	same "a branch" "$(integers "$mnt/@branch.dev/a")" "1 2 3 4"
	same "a moment" "$(integers "$mnt/@2026-01-02T12:00/a")" "1 2 3 4"
	[ ! -e "$mnt/@tag.gone" ] || fail "a deleted tag is there"
	[ ! -e "$mnt/@tag.nope" ] || fail "a tag that never was is there"
	[ ! -e "$mnt/@2025-01-01" ] || fail "there is something before the first commit"
	[ ! -e "$mnt/@1600-01-01" ] || fail "a moment before all that can be counted"
	same "a moment beyond it" "$(integers "$mnt/@9999-01-01/a")" "2 3 4 5"
	same "history" "$(cut -f 2,3 "$mnt/.zarrfs/history" | xargs)" "2026-01-03T00:00:00.250000Z commit 2 2026-01-02T00:00:00Z commit 1"
	same "a moment of the history" "$(integers "$mnt/@2026-01-03T00:00:00.250000Z/a")" "2 3 4 5"
	same "a quarter of a second before it" "$(integers "$mnt/@2026-01-03T00:00:00/a")" "1 2 3 4"
	[ ! -e "$mnt/@2026-01-03T00:00:00./a" ] || fail "half a fraction is a moment"
	id=$(tail -n 1 "$mnt/.zarrfs/history" | cut -f 1)
	same "a snapshot by its id" "$(integers "$mnt/@$id/a")" "1 2 3 4"

	# one file is one snapshot
	exec 5<"$mnt/a"
	make "$repo" $spec 3 "$tmp/source"
	cat "$mnt/.zarrfs/refresh" >/dev/null
	same "after a commit" "$(integers "$mnt/a")" "3 4 5 6"
	same "a file that was open" "$(od -An -v -td4 <&5 | xargs)" "2 3 4 5"
	exec 5<&-
	same "the tag" "$(integers "$mnt/@tag.v1/a")" "1 2 3 4"
	make "$repo" $spec 4 "$tmp/source"
	# shellcheck disable=SC2317
	new() { [ "$(integers "$mnt/a")" = "4 5 6 7" ]; }
	eventually 60 new || fail "a commit is not seen after the TTL: $(integers "$mnt/a")"
	umount_store

	same "a tag in the path" "$("$ZARRFS" -o endian=little --cat "$repo#tag=v1" a | od -An -td4 | xargs)" "1 2 3 4"
	same "a tag in the URL" "$("$ZARRFS" -o endian=little --cat "file://$repo#tag=v1" a | od -An -td4 | xargs)" "1 2 3 4"
	same "ref=" "$("$ZARRFS" -o endian=little,ref=branch.dev --cat "$repo" a | od -An -td4 | xargs)" "1 2 3 4"
	"$ZARRFS" -o ref=tag.gone --ls "$repo" 2>"$tmp/why" && fail "a deleted tag was opened"
	grep -q "no version 'tag.gone'" "$tmp/why" || fail "the reason is '$(cat "$tmp/why")'"
	same "from above" "$("$ZARRFS" -o endian=little --cat "$tmp" "repo$spec/a" | od -An -td4 | xargs)" "4 5 6 7"

	"$ZARRFS" --cat "$repo" v >/dev/null 2>"$tmp/why" && fail "a virtual chunk without permission"
	grep -q -- "-o virtual=file://$tmp/" "$tmp/why" || fail "the reason is '$(cat "$tmp/why")'"
	same "another place" "$("$ZARRFS" -o endian=little,virtual="file:///nowhere=>file:///x,virtual=file://$tmp/=>file://$tmp/./" \
		--cat "$repo" v | od -An -td4 | xargs)" "16843009 16843009 16843009 16843009"
	touch "$tmp/source"
	must_mount "$repo" virtual="file://$tmp"
	refused "a source that was changed" "$mnt/v"
	truncate -s 20 "$tmp/source"
	touch -d '2026-01-01' "$tmp/source"
	refused "a source that was cut" "$mnt/v"
	rm "$tmp/source"
	refused "a source that is gone" "$mnt/v"
	for chunk in "$repo"/chunks/*; do truncate -s -1 "$chunk"; done
	refused "a chunk that was cut" "$mnt/n"
	rm -r "$repo/chunks"
	refused "a chunk that is gone" "$mnt/n"
	rm -r "$repo/manifests"
	refused "a manifest that is gone" "$mnt/@tag.v1/a"
	umount_store
	head -c 24 /dev/zero | tr '\0' '\1' >"$tmp/source"
	touch -d '2026-01-01' "$tmp/source"
done

# the ETag of a file says its inode, which copies have not, its time and its size; another one says nothing that can be compared
etag=$(printf '%x-%x-%x' 1 $(($(date -d '2026-01-01' +%s) * 1000000)) 24)
for said in "$etag" "\"$etag\"" "${etag%-*}-19" "1-${etag#*-}0" d41d8cd98f00b204e9800998ecf8427e; do
	make "$tmp/etag" 2 1 "$tmp/source" 0 "" "$said"
	case $said in
	"$etag" | "\"$etag\"") want="16843009 16843009 16843009 16843009" ;;
	*) want="" ;;
	esac
	same "what has the ETag $said" "$("$ZARRFS" -o "endian=little,virtual=file://$tmp" --cat "$tmp/etag" v 2>/dev/null | od -An -td4 | xargs)" "$want"
done
make "$tmp/etag" 2 1 "$tmp/source" 0 s3://bucket/source d41d8cd98f00b204e9800998ecf8427e
same "a copy of an object" "$("$ZARRFS" -o "endian=little,virtual=s3://bucket=>$tmp" --cat "$tmp/etag" v | od -An -td4 | xargs)" "16843009 16843009 16843009 16843009"

# the option that a message names is one that permits what it names, whatever characters are in it
odd="$tmp/d%41,100%25#e?f g"
mkdir "$odd"
cp -p "$tmp/source" "$odd/source"
location=file://$(sed 's/%/%25/g; s/#/%23/; s/?/%3F/' <<<"$odd/source")
make "$tmp/odd" 2 1 "$odd/source" 0 "$location"
option=$("$ZARRFS" -o endian=little --cat "$tmp/odd" v 2>&1 >/dev/null | sed -n 's/.* -o \(virtual=.*\)/\1/p')
same "what $option permits" "$("$ZARRFS" -o "endian=little,$option" --cat "$tmp/odd" v 2>&1 | od -An -td4 | xargs)" "16843009 16843009 16843009 16843009"

# a file that is open stays in its snapshot, however many others are read before it is
for spec in 1 2; do
	repo=$tmp/long$spec
	make "$repo" $spec 90
	must_mount "$repo" endian=little,metadata_ttl=600
	exec 5<"$mnt/a"
	make "$repo" $spec 91
	cat "$mnt/.zarrfs/refresh" >/dev/null
	same "the next of many" "$(integers "$mnt/a")" "91 92 93 94"
	ids=$(tac "$mnt/.zarrfs/history" | cut -f 1 | head -n 80)
	n=0
	for id in $ids; do
		n=$((n + 1))
		same "snapshot $n" "$(integers "$mnt/@$id/a")" "$n $((n + 1)) $((n + 2)) $((n + 3))"
	done
	same "a file that stayed open" "$(od -An -v -td4 <&5 | xargs)" "90 91 92 93"
	exec 5<&-
	umount_store
done

# … and however many snapshots are shown after its own
for spec in 1 2; do
	repo=$tmp/long$spec
	"$python" - "$here" "$repo" $spec 91 <<-E || exit 1
		import shutil, sys
		sys.path.insert(0, sys.argv[1])
		import icechunk_files
		r = icechunk_files.Repo(sys.argv[2], int(sys.argv[3]), "", 0, "", "")
		for k in range(1, int(sys.argv[4])):
		    r.refs(k)
		    shutil.copy(r.top + ("/repo" if r.spec == 2 else "/refs/branch.main/ref.json"), r.top + "/main%d" % k)
		r.refs(1)
	E
	must_mount "$repo" endian=little,metadata_ttl=600
	exec 5<"$mnt/a"
	for k in $(seq 2 80); do
		mv "$repo/main$k" "$([ $spec = 2 ] && echo "$repo/repo" || echo "$repo/refs/branch.main/ref.json")"
		cat "$mnt/.zarrfs/refresh" >/dev/null
		same "commit $k" "$(integers "$mnt/a")" "$k $((k + 1)) $((k + 2)) $((k + 3))"
	done
	same "a file that is open since" "$(od -An -v -td4 <&5 | xargs)" "1 2 3 4"
	exec 5<&-
	umount_store
done

# spec 1 has containers of virtual chunks in config.yaml, which is looked at when a message or a name needs it
if grep -aq libyaml- "$ZARRFS"; then
	repo=$tmp/configured
	make "$repo" 1 1 "$tmp/source"
	make "$tmp/named" 1 1 "$tmp/source" 0 vcc://near/source
	containers="virtual_chunk_containers:
  far: {name: far, url_prefix: s3://bucket, store: !s3 {}}
  near:
    name: near
    url_prefix: file://$tmp
    store: !local_file_system
      region: eu-1"
	# said REPO: why its virtual chunk cannot be read
	said()
	{
		"$ZARRFS" -o endian=little --cat "$1" v 2>&1 >/dev/null | grep -o " -o virtual=.*"
	}
	same "the reason without a configuration" "$(said "$repo")" " -o virtual=file://$tmp/"
	echo "$containers" | tee "$repo/config.yaml" >"$tmp/named/config.yaml"
	for store in "$repo" "$tmp/named"; do
		same "the reason for $store" "$(said "$store")" " -o virtual=file://$tmp (the repository says: region eu-1)"
	done
	ones="16843009 16843009 16843009 16843009"
	same "a name" "$("$ZARRFS" -o "endian=little,virtual=file://$tmp" --cat "$tmp/named" v | od -An -td4 | xargs)" "$ones"
	echo "${containers/near:/[near}" | tee "$repo/config.yaml" >"$tmp/named/config.yaml"
	same "the reason with a damaged one" "$(said "$repo")" " -o virtual=file://$tmp/"
	same "a name that nothing is known of" "$(said "$tmp/named")" " -o virtual=vcc://near/=>URL"
	same "what lies in the repository" "$("$ZARRFS" -o endian=little --cat "$tmp/named" a | od -An -td4 | xargs)" "1 2 3 4"
	same "a name that the user knows" "$("$ZARRFS" -o "endian=little,virtual=vcc://near/=>file://$tmp/" --cat "$tmp/named" v | od -An -td4 | xargs)" "$ones"

	# the newest one counts
	must_mount "$tmp/named" endian=little,metadata_ttl=1,virtual="file://$tmp"
	refused "a name that nothing is known of" "$mnt/v"
	echo "$containers" >"$tmp/named/config.yaml"
	cat "$mnt/.zarrfs/refresh" >/dev/null
	same "a name after the configuration was mended" "$(integers "$mnt/v")" "$ones"
	umount_store
fi
exit $((failures != 0))

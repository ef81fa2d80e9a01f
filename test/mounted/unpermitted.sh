#!/bin/bash
# References that lead where the user did not permit, written as an attacker would: by "..", coded or not, by names that begin alike, by redirects, by other hosts. Each is refused, says
# which option would permit it, and asks no server anything; nor is a source read that may be another than was meant. A store that refuses what is not there has versions all the same.
. "$(dirname "$0")/functions.sh"

ones="16843009 16843009 16843009 16843009"
mkdir -p "$tmp/data/pre" "$tmp/other"
head -c 24 /dev/zero | tr '\0' '\1' | tee "$tmp/data/pre/source" "$tmp/data/prefix-evil" >"$tmp/other/secret"
touch -d 2026-01-01 "$tmp/data/pre/source" "$tmp/data/prefix-evil" "$tmp/other/secret" "$tmp/when"
for spec in 1 2; do
	"$python" "$here/icechunk_files.py" "$tmp/spec$spec" $spec 2 || exit 1
done
"$python" "$here/unpermitted.py" "$tmp" >"$tmp/ports" 2>"$tmp/server" &
server=$!
trap 'kill $server 2>/dev/null; finish' EXIT
eventually 60 test -s "$tmp/ports" || fail "no web server: $(cat "$tmp/server")"
read -r port other <"$tmp/ports"
web=http://127.0.0.1:$port

# read_it URL OPTIONS [ETAG]: what a chunk of an Icechunk repository at that URL shows, in $got; why not, in $why
read_it()
{
	"$python" "$here/icechunk_files.py" "$tmp/repo" 2 1 "$tmp/when" 0 "$1" ${3:+"$3"} || exit 1
	got=$("$ZARRFS" -o "endian=little,timeout=20${2:+,$2}" --cat "$tmp/repo" v 2>"$tmp/why" | od -An -td4 | xargs)
	why=$(cat "$tmp/why")
}

# refused URL OPTIONS REASON [ETAG]
refused()
{
	read_it "$1" "$2" "${4-}"
	[ -z "$got" ] || fail "'$1' is read with '$2'"
	[[ $why == *"$3"* ]] || fail "the reason for '$1' with '$2' is '$why', not '$3'"
}

# shown URL OPTIONS [ETAG]
shown()
{
	read_it "$@"
	same "$1 with $2" "$got $why" "$ones "
}

# kerchunk URL OPTIONS [FOLDER]: likewise of a set of references
kerchunk()
{
	local set=${3:-$tmp/set}
	mkdir -p "$tmp/set"
	cat >"$tmp/set/refs.json" <<-END
		{"version": 1, "refs": {".zgroup": {"zarr_format": 2}, "v/.zarray": {"zarr_format": 2, "shape": [4], "chunks": [4], "dtype": "<i4", "fill_value": -1, "order": "C",
		"compressor": null, "filters": null}, "v/0": ["$1", 8, 16]}}
	END
	got=$("$ZARRFS" -o "endian=little,timeout=20${2:+,$2}" --cat "$set/refs.json" v 2>"$tmp/why" | od -An -td4 | xargs)
	[ -z "$got" ] || fail "kerchunk: '$1' is read with '$2'"
}

pre=file://$tmp/data/pre
permit="virtual=$pre,virtual=s3://bucket/pre,virtual=http://example.org/pre"
: >"$tmp/asked"
while read -r url reason; do
	for options in "" "$permit"; do
		refused "$url" "$options" "$reason"
	done
done <<END
file:///etc/passwd -o virtual=file:///etc/
file://$tmp/data/prefix-evil -o virtual=file://$tmp/data/
$pre/../../other/secret -o virtual=file://$tmp/other/
$pre/%2e%2e/%2E./other/secret -o virtual=file://$tmp/other/
$pre/..%2f..%2fother/secret -o virtual=file://$tmp/other/
$pre//..//.//..///other/secret -o virtual=file://$tmp/other/
file://example.org$tmp/data/pre/source is on another host
$tmp/data/pre/source is no URL
s3://other-bucket/pre/x -o virtual=s3://other-bucket/pre/
s3://bucket/prefix-evil -o virtual=s3://bucket/
http://169.254.169.254/latest/meta-data -o virtual=http://169.254.169.254/latest/
http://example.org/prefix-evil -o virtual=http://example.org/
http://example.org:8080/pre/x -o virtual=http://example.org:8080/pre/
http://example.org@127.0.0.1:$port/pre/x -o virtual=http://example.org@127.0.0.1:$port/pre/
vcc://unknown/x -o virtual=vcc://unknown/=>URL
memory://pre/x -o virtual=memory://pre/
END
refused "$pre/%252e%252e/%252e%252e/other/secret" "$permit" "is not there"
refused "s3://bucket/pre/../prefix-evil" "$permit,profile=anon" "part '..'"
refused "http://example.org/pre/%2e%2e/x" "$permit" "part '..'"
for url in "FILE://$tmp/data/pre/source" "file://localhost$tmp/data//pre/./source" "$pre/../pre/s%6Furce"; do
	shown "$url" "$permit"
done
for url in /etc/passwd file:///etc/passwd local:///etc/passwd ../../../../../../../etc/passwd "$pre/../../other/secret" "$tmp/data/prefix-evil" s3://bucket/prefix-evil \
	http://169.254.169.254/latest zip://x::file:///etc/passwd memory://pre/x "file://example.org$tmp/data/pre/source"; do
	kerchunk "$url" ""
	kerchunk "$url" "$permit"
	kerchunk "$url" "$permit" "$web/hiding/set"
done
same "requests to servers that were not permitted" "$(grep -v ' /hiding/set/' "$tmp/asked")" ""

# a server that sends elsewhere; a token is for the store alone
echo secret >"$tmp/token"
chmod 600 "$tmp/token"
for kind in other file address; do
	refused "$web/$kind/x" "virtual=$web,http_token_file=$tmp/token" "is not followed"
done
same "requests to the server that one is sent to" "$(grep -c '^1' "$tmp/asked")" 0
same "tokens that a source was sent" "$(grep -vc -- ' -$' "$tmp/asked")" 0
shown "http://127.0.0.1:$other/plain/x" "virtual=$web,virtual=http://127.0.0.1:$other/plain"

# what can be compared with a reference's ETag is, and must be, but in what the user says stands for it
for kind in plain date; do
	shown "$web/$kind/x" "virtual=$web"
	refused "$web/$kind/x" "virtual=$web" "the server says no ETag that could be compared with abc" abc
	shown "s3://bucket/x" "virtual=s3://bucket=>$web/$kind" abc
done
shown "$web/etag/x" "virtual=$web" abc
refused "$web/etag/x" "virtual=$web" 'its ETag is "abc", not abd' abd
refused "s3://bucket/x" "virtual=s3://bucket=>$web/etag" 'its ETag is "abc", not abd' abd
refused "$web/weak/x" "virtual=$web" 'its ETag is W/"abc", not abc' abc
touch -d 2025-12-31 "$tmp/when"
refused "$web/date/x" "virtual=$web" "was changed after"

for spec in 1 2; do
	for version in "" "#branch=main" "#tag=v1"; do
		want="2 3 4 5"
		[ "$version" != "#tag=v1" ] || want="1 2 3 4"
		same "a of spec $spec $version where what is not there is refused" "$("$ZARRFS" -o endian=little --cat "$web/hiding/spec$spec$version" a 2>&1 | od -An -td4 | xargs)" "$want"
	done
	"$ZARRFS" --cat "$web/hiding/spec$spec#tag=gone" a >/dev/null 2>&1 && fail "a deleted tag of spec $spec is there"
done
exit $((failures != 0))

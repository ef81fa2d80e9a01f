#!/bin/bash
# A store behind a web server: every byte as in the folder that it shows, whatever the server can and cannot do.
. "$(dirname "$0")/functions.sh"
needs curl openssl
unset http_proxy https_proxy all_proxy no_proxy HTTP_PROXY HTTPS_PROXY ALL_PROXY NO_PROXY AWS_CA_BUNDLE NETRC ZARRFS_HTTP_TOKEN
export HOME=$tmp
. "$here/nginx_functions.sh"
[ -n "$nginx" ] || skip "no nginx"

"$python" "$here/tools.py" make "$tmp/store" "$tmp/want" || exit 1
"$python" -c 'import sys, zarr; zarr.consolidate_metadata(sys.argv[1])' "$tmp/store" || exit 1
mkdir "$tmp/bare" "$tmp/www"
cp -r "$tmp/store/." "$tmp/bare"
rm "$tmp/bare/.zmetadata"
cp -r "$tmp/store" "$tmp/www/with space+é%"
read -r port other secure < <("$python" - <<'END'
import socket
s = [socket.socket() for _ in range(3)]
[x.bind(("127.0.0.1", 0)) for x in s]
print(*[x.getsockname()[1] for x in s])
END
)
base=http://127.0.0.1:$port

openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 9 -subj /CN=zarrfs-test -addext subjectAltName=IP:127.0.0.1 \
	-keyout "$tmp/server.key" -out "$tmp/server.pem" 2>/dev/null || fail "openssl makes no certificate"

printf 'me:{PLAIN}se cret\n' >"$tmp/passwords"
nginx_serves <<END
  access_log $tmp/access.log;
  ssl_certificate $tmp/server.pem; ssl_certificate_key $tmp/server.key;
  server {
    listen 127.0.0.1:$port;
    listen 127.0.0.1:$secure ssl;
    root $tmp/www;
    location /plain/ { alias $tmp/store/; }
    location /bare/ { alias $tmp/bare/; }
    location /dated/ { alias $tmp/store/; etag off; }
    location /noranges/ { alias $tmp/store/; max_ranges 0; }
    location /archive/ { alias $tmp/archive/; max_ranges 0; access_log $tmp/archive.log; }
    location /nothing/ { alias $tmp/store/; max_ranges 0; etag off; if_modified_since off; add_header Last-Modified ""; }
    location /nohead/ { alias $tmp/bare/; if (\$request_method = HEAD) { return 405; } }
    location /moved/ { return 302 /again/\$uri; }
    location /again/ { rewrite ^/again//?moved/(.*)\$ /plain/\$1 redirect; }
    location /round/ { return 302 \$uri; }
    location /abroad/ { return 302 http://localhost:$port/plain/; }
    location /signed/ { return 302 http://me:w0rd@localhost:$port/plain/?signature=w0rd; }
    location /private/ { alias $tmp/store/; auth_basic "zarrfs"; auth_basic_user_file $tmp/passwords; }
    location /sent/ { rewrite ^/sent/(.*)\$ /private/\$1 redirect; }
    location /token/ { alias $tmp/store/; if (\$http_authorization != "Bearer w0rd") { return 401; } }
    location /shut/ { alias $tmp/store/; location ~ ^/shut/big/1 { return 403; } }
    location /failing/ { alias $tmp/store/; location ~ ^/failing/big/1 { return 500; } }
    location /encoded/ { alias $tmp/store/; }
    location /encoded/big/ { alias $tmp/store/big/; add_header Content-Encoding gzip; }
  }
END
ln -s "$tmp/store" "$tmp/www/store"
begin_nginx "$base/plain/.zgroup"
"$python" -m http.server --bind 127.0.0.1 --directory "$tmp/store" "$other" >/dev/null 2>&1 &
python_server=$!
trap 'kill $web $python_server 2>/dev/null; finish' EXIT
eventually 10 curl -fsS -o /dev/null "http://127.0.0.1:$other/.zgroup" 2>/dev/null || fail "Python's server does not answer"

must_mount "$tmp/store"
cp -r "$mnt" "$tmp/folder"
umount_store

fewer=()
# all_same URL [OPTIONS]: it shows the files that the folder shows; of a slow daemon each but the first shows the variables only
all_same()
{
	must_mount "$@"
	diff -r "$mnt" "$tmp/folder" "${fewer[@]}" >"$tmp/said" || fail "$1: $(head -n 5 "$tmp/said")"
	! grep -q 'no consolidated' "$log" || fail "$1: $(cat "$log")"
	umount_store
	! sanitized || fewer=(-x '*.nc' -x '*.nc4' -x '*.csv' -x '*.cdl')
	[ ${#fewer[@]} = 0 ] || return
	must_mount "$@"
	"$python" "$here/tools.py" memmap "$mnt" "$tmp/want" || fail "memory maps of $1 differ"
	umount_store
}

all_same "$base/plain"
all_same "$base/plain/#mode=zarr"
all_same "$base/dated"
all_same "$base/moved"
all_same "$base/noranges"
all_same "$base/nothing"
all_same "$base/with%20space%2B%C3%A9%25"
all_same "http://127.0.0.1:$other"
all_same "$base/plain" connections=1,memory=16M
http_proxy=$base all_same http://store.example/plain
https=https://127.0.0.1:$secure
all_same "$https/plain" "ca_bundle=$tmp/server.pem"
AWS_CA_BUNDLE=$tmp/server.pem all_same "$https/plain"
all_same "$https/plain" tls_verify=false

# refused WHY URL [OPTIONS]: not mounted, with a message
refused()
{
	mkdir -p "$tmp/never"
	timeout 60 "$ZARRFS" -f ${3:+-o "$3"} "$2" "$tmp/never" 2>"$tmp/said" && fail "'$2' is mounted"
	grep -q "$1" "$tmp/said" || fail "about '$2' it says '$(cat "$tmp/said")'"
}

# names and passwords
printf 'machine 127.0.0.1 login me password "se cret"\n' >"$tmp/netrc"
printf 'w0rd\n' >"$tmp/token"
: >"$tmp/empty"
refused 'HTTP 401; .*~/.netrc' "$base/private"
NETRC=$tmp/netrc all_same "$base/private"
HOME=/dev/null "$ZARRFS" --cat "$base/plain" t2m | cmp - "$tmp/want/t2m" || fail "without a home nothing is read"
NETRC=$tmp/netrc all_same "$base/sent"
printf '%s\n' 'machine web.example login you password word' 'macdef init' 'machine 127.0.0.1 login no password no' '' \
	'# machine 127.0.0.1 login no password no' 'machine 127.0.0.1' '  password "se cret"' '  login me' 'default login no password no' >"$tmp/netrc"
NETRC=$tmp/netrc all_same "$base/private"
HOME=/dev/null "$ZARRFS" --cat "$base/plain" t2m | cmp - "$tmp/want/t2m" || fail "without a home nothing is read"
all_same "$base/token" "http_token_file=$tmp/token"
ZARRFS_HTTP_TOKEN=w0rd all_same "$base/token"
printf 'two words\n' >"$tmp/words"
refused "words': a token is one word" "$base/token" "http_token_file=$tmp/words"
refused "empty': there is no token" "$base/token" "http_token_file=$tmp/empty"
refused 'https only' http://web.example/token "http_token_file=$tmp/token"
all_same "$https/token" "ca_bundle=$tmp/server.pem,http_token_file=$tmp/token"

# references PLACE: a store of references to what this server has there
references()
{
	printf '{"version": 1, "refs": {".zgroup": "{\\"zarr_format\\": 2}", "a/.zarray": "%s", "a/0": ["%s/.zgroup", 0, 4]}}' \
		'{\"zarr_format\": 2, \"shape\": [4], \"chunks\": [4], \"dtype\": \"|u1\", \"compressor\": null, \"fill_value\": 0, \"filters\": null, \"order\": \"C\"}' "$1" >"$tmp/refs.json"
}

# a token is for the store that it was given with, and not for what that refers to
references "$https/plain"
must_mount "$tmp/refs.json" "virtual=$https,ca_bundle=$tmp/server.pem,http_token_file=$tmp/token"
same "a reference" "$(cat "$mnt/a")" "$(head -c 4 "$tmp/store/.zgroup")"
umount_store
references "$https/token"
must_mount "$tmp/refs.json" "virtual=$https,ca_bundle=$tmp/server.pem,http_token_file=$tmp/token"
cat "$mnt/a" >/dev/null 2>&1 && fail "a token went where a reference led"
umount_store
must_mount "$base/token" "http_token_file=$tmp/token,loglevel=debug"
cat "$mnt/t2m" >/dev/null
grep -qr 'w0rd' "$log" "$mnt/.zarrfs/config" "$mnt/.zarrfs/log" && fail "the token is shown"
umount_store

# what is refused is an error, and only there
must_mount "$base/shut"
cmp "$mnt/t2m" "$tmp/want/t2m" || fail "what is not refused cannot be read"
cat "$mnt/big" >/dev/null 2>"$tmp/said" && fail "refused chunks gave data"
grep -q 'Permission denied' "$tmp/said" || fail "about a refused chunk it says '$(cat "$tmp/said")'"
grep -q 'big/1.*HTTP 403' "$mnt/.zarrfs/log" || fail "the log does not say why: $(cat "$mnt/.zarrfs/log")"
umount_store
must_mount "$base/shut" missing=403
cmp "$mnt/big" <(head -c 6400000 "$tmp/want/big"; head -c 6400000 /dev/zero; tail -c +12800001 "$tmp/want/big") ||
	fail "refused chunks are not absent with missing=403"
umount_store
must_mount "$base/failing" timeout=6
cat "$mnt/big" >/dev/null 2>"$tmp/said" && fail "a server's failure gave data"
grep -q 'Input/output error' "$tmp/said" || fail "about a server's failure it says '$(cat "$tmp/said")'"
grep -q 'big/1.*HTTP 500' "$mnt/.zarrfs/log" || fail "the log does not say why: $(cat "$mnt/.zarrfs/log")"
umount_store
must_mount "$base/encoded"
cat "$mnt/big" >/dev/null 2>&1 && fail "bytes that the server encoded were taken for the chunk's"
grep -q "encoded as 'gzip'" "$mnt/.zarrfs/log" || fail "the log does not say why: $(cat "$mnt/.zarrfs/log")"
umount_store

# from a server without ranges an archive is fetched once, as a whole, and the log says why
mkdir "$tmp/archive"
"$python" -c 'import sys, zipfile
with zipfile.ZipFile(sys.argv[1], "w") as archive:
    archive.writestr("x/.zarray", """{"zarr_format": 2, "shape": [600000], "chunks": [200000], "dtype": "|u1", "fill_value": 0, "order": "C", "compressor": null, "filters": null}""")
    archive.writestr(".zgroup", """{"zarr_format": 2}""")
    for n in range(3):
        archive.writestr("x/%d" % n, bytes([n + 65]) * 200000)' "$tmp/archive/x.zip" || exit 1
must_mount "$base/archive/x.zip" loglevel=warning
same "an archive of a server without ranges" "$(fold -w 200000 "$mnt/x" | cut -c 1)" "$(printf 'A\nB\nC')"
same "warnings" "$(grep -c 'ignores Range' "$mnt/.zarrfs/log")" 1
umount_store
fetched()
{
	[ "$(grep -c '"GET .*" 200' "$tmp/archive.log")" = 1 ]
}
eventually 5 fetched || fail "an archive of a server without ranges: $(cat "$tmp/archive.log")"

# nothing to list: names can be opened, and ls says why not
must_mount "$base/bare"
same "warnings that nothing is listed" "$(grep -c "bare' has no consolidated metadata" "$log")" 1
cmp "$mnt/ocean/salt" "$tmp/want/ocean/salt" || fail "a name that is not listed cannot be opened"
ls "$mnt" >/dev/null 2>&1 && fail "ls of what cannot be listed shows something"
grep -q 'no consolidated metadata' "$mnt/.zarrfs/log" || fail "the log does not say why: $(cat "$mnt/.zarrfs/log")"
umount_store
must_mount "$base/nohead"
cmp "$mnt/t2m" "$tmp/want/t2m" || fail "a server without HEAD cannot be read from"
umount_store

# what is not mounted, and why
refused 'there is nothing at' "$base/none"
refused 'HTTP 302' "$base/round"
refused 'http://localhost' "$base/abroad"
refused 'http://localhost' "$base/signed"
grep -q w0rd "$tmp/said" && fail "what is meant for another server is shown: $(cat "$tmp/said")"
before=$SECONDS
refused "cannot open store 'http://127.0.0.1:1/x': .*Failed to connect" http://127.0.0.1:1/x
[ $((SECONDS - before)) -le 20 ] || fail "at a port without a server, being refused takes $((SECONDS - before)) s"
refused 'user information' "http://me:word@127.0.0.1:$port/plain"

refused 'certificate' "$https/plain"
refused 'certificate' "https://localhost:$secure/plain" "ca_bundle=$tmp/server.pem"
refused 'cannot read the certificates' "$https/plain" "ca_bundle=$tmp/none"

# an array and a group below the store
must_mount "$base/plain/big"
cmp "$mnt/big" "$tmp/want/big" || fail "a single array differs"
umount_store
must_mount "$base/plain/ocean"
cmp "$mnt/deep/mask" "$tmp/want/ocean/deep/mask" || fail "a group below the store differs"
umount_store

# the server goes away, and comes back
must_mount "$base/plain" timeout=4
head -c 1000 "$mnt/big" >/dev/null
kill $web
wait $web
before=$SECONDS
cmp "$mnt/ocean/salt" "$tmp/want/ocean/salt" 2>/dev/null && fail "there are data of a server that is gone"
[ $((SECONDS - before)) -le 7 ] || fail "it took $((SECONDS - before)) s with timeout=4"
begin_nginx "$base/plain/.zgroup"
eventually 10 cmp -s "$mnt/ocean/salt" "$tmp/want/ocean/salt" || fail "the mount does not come back with its server"
umount_store

# each chunk is one request: of a program that a busy machine holds up now and then one more, but not in each of a few mounts
# shellcheck disable=SC2317 # by eventually
all_logged()
{
	[ "$(grep -c '/plain/big/[0-9]' "$tmp/access.log")" -ge 64 ]
}
for _ in {1..4}; do
	must_mount "$base/plain"
	: >"$tmp/access.log"
	cat "$mnt/big" >/dev/null
	eventually 60 all_logged
	other_than_one=$(grep -o '/plain/big/[0-9].*' "$tmp/access.log" | sort | uniq -c | sort -rn | awk '{ n += $1 } $1 > 1 { print } END { if (n != 64) print n }')
	[ -n "$other_than_one" ] || break
	umount_store
done
same "requests for more or less than 64 chunks" "$other_than_one" ""
same "requests that the mount counted are those that the server saw" "$(awk '/http_requests_total/ { n += $2 } END { print n }' "$mnt/.zarrfs/stats")" \
	"$(curl -fsS "$base/plain/.zgroup" >/dev/null; stat_value 'http_requests_total{kind="get"}')"

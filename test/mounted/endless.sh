#!/bin/bash
# A server whose listings never end: they fail, with a message, before they have taken more than the memory there may be; what lies there can be
# read all the same.
. "$(dirname "$0")/functions.sh"
. "$here/s3_functions.sh"
needs curl

cat >"$tmp/server.py" <<'END'
import http.server, sys, urllib.parse

class Endless(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    def do_GET(self):
        path, _, query = self.path.partition("?")
        asked = dict(urllib.parse.parse_qsl(query))
        if asked.get("prefix") == "text/":
            self.answer(200, b"<ListBucketResult><IsTruncated>false</IsTruncated></ListBucketResult>")
        elif "list-type" in asked:
            first = int(asked.get("continuation-token", 0))
            body = ('<ListBucketResult><IsTruncated>true</IsTruncated><NextContinuationToken>%d</NextContinuationToken>' % (first + 1000)
                    + "".join(KIND % (asked.get("prefix", ""), n) for n in range(first, first + 1000))
                    + "</ListBucketResult>").encode()
            self.answer(200, body)
        elif path == "/bucket/text":
            self.answer(200, b"some text")
        else:
            self.answer(404, b"<Error><Code>NoSuchKey</Code></Error>")
    do_HEAD = do_GET
    def answer(self, status, body):
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.send_header("ETag", '"1"')
        self.end_headers()
        if self.command == "GET":
            self.wfile.write(body)
    def log_message(self, *args):
        pass

KIND = "<Contents><Key>%skey-%08d</Key><Size>1</Size><ETag>&quot;1&quot;</ETag><LastModified>2020-01-01T00:00:00.000Z</LastModified></Contents>"
server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Endless)
print(server.server_port, flush=True)
server.serve_forever()
END
exec {port}< <("$python" "$tmp/server.py")
server=$!
trap 'kill $server 2>/dev/null; finish' EXIT
read -r -u "$port" number
unsign
export AWS_ENDPOINT_URL_S3=http://127.0.0.1:$number

must_mount s3://bucket "profile=anon,memory=32M,timeout=30"
for where in "$mnt" "$mnt/.store" "$mnt/below"; do
	ls "$where" >/dev/null 2>"$tmp/said" && fail "ls of $where, which has no end, ends well"
	grep -q 'Input/output error' "$tmp/said" || fail "about $where ls says $(cat "$tmp/said")"
done
grep -q 'a listing of more than [0-9]* names (option memory' "$mnt/.zarrfs/log" || fail "the log does not say why: $(cat "$mnt/.zarrfs/log")"
same "an object beside them" "$(cat "$mnt/text")" "some text"
peak=$(peak_memory)
echo "peak memory of the daemon: $((peak / 1024)) MiB with memory=32M"
sanitized || [ "$peak" -le $(((32 + 64) * 1024)) ] || fail "the daemon took $((peak / 1024)) MiB with memory=32M"
umount_store

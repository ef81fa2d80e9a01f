#!/bin/bash
# A server that takes what is put and never answers: a mount that is told to end does not wait for it once an array, and says what it did not store.
. "$(dirname "$0")/functions.sh"
. "$here/s3_functions.sh"

arrays=12
cat >"$tmp/server.py" <<'END'
"""A bucket in memory. Once the file argv[1] is there, what changes it is read and not answered. The port goes to argv[2]; it has argv[3]
arrays."""
import hashlib, http.server, json, os, socketserver, sys, threading

objects = {}

class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *args):
        pass

    def say(self, status, body=b"", etag=None):
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        if etag:
            self.send_header("ETag", etag)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def etag(self, key):
        return '"%s"' % hashlib.md5(objects[key]).hexdigest() if key in objects else None

    def change(self):
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        if os.path.exists(sys.argv[1]):
            threading.Event().wait()
        now, match = self.etag(self.path), self.headers.get("If-Match")
        if (match and match != now) or (self.headers.get("If-None-Match") and now):
            return self.say(412)
        if self.command == "PUT":
            objects[self.path] = body
        else:
            objects.pop(self.path, None)
        self.say(200 if self.command == "PUT" else 204, etag=self.etag(self.path))

    def look(self):
        if "?" in self.path:
            return self.say(200, b"<ListBucketResult><IsTruncated>false</IsTruncated></ListBucketResult>")
        body = objects.get(self.path)
        if body is None:
            return self.say(404, b"<Error><Code>NoSuchKey</Code></Error>")
        self.say(200, body, self.etag(self.path))

    do_PUT = do_DELETE = change
    do_GET = do_HEAD = look

class Server(socketserver.ThreadingMixIn, http.server.HTTPServer):
    daemon_threads = True

server = Server(("127.0.0.1", 0), Handler)
objects["/bucket/x.zarr/zarr.json"] = b'{"zarr_format": 3, "node_type": "group"}'
array = json.dumps({
    "zarr_format": 3, "node_type": "array", "shape": [8], "data_type": "uint8", "fill_value": 0,
    "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [4]}},
    "chunk_key_encoding": {"name": "default"}, "codecs": [{"name": "bytes"}]}).encode()
for n in range(int(sys.argv[3])):
    objects["/bucket/x.zarr/a%d/zarr.json" % n] = array
with open(sys.argv[2] + ".new", "w") as file:
    file.write(str(server.server_address[1]))
os.rename(sys.argv[2] + ".new", sys.argv[2])
server.serve_forever()
END
"$python" "$tmp/server.py" "$tmp/stuck" "$tmp/port" $arrays 2>/dev/null &
server=$!
trap 'kill $server 2>/dev/null; finish' EXIT
# shellcheck disable=SC2317 # by eventually
has_port()
{
	[ -s "$tmp/port" ]
}
eventually 20 has_port || fail "no server"
export AWS_ACCESS_KEY_ID=id AWS_SECRET_ACCESS_KEY=secret
AWS_ENDPOINT_URL_S3=http://127.0.0.1:$(cat "$tmp/port")
export AWS_ENDPOINT_URL_S3

must_mount 's3://bucket/x.zarr#mode=zarr,v3' rw,timeout=4
"$python" - "$mnt" "$tmp" $arrays <<'END' 2>/dev/null &
import os, sys, time
mnt, tmp, arrays = sys.argv[1], sys.argv[2], int(sys.argv[3])
files = [os.open("%s/a%d" % (mnt, n), os.O_RDWR) for n in range(arrays)]
for file in files:
    assert os.pread(file, 8, 0) == bytes(8)
open(tmp + "/stuck", "w").close()
for file in files:
    os.pwrite(file, b"lost", 0)
open(tmp + "/written", "w").close()
os.close(files[0])  # which waits
time.sleep(60)
END
writer=$!
disown
# shellcheck disable=SC2317 # by eventually
is_written()
{
	[ -e "$tmp/written" ]
}
eventually 20 is_written || fail "the arrays cannot be written: $(cat "$log")"
begun=$SECONDS status=0
mounts[$mnt]=
kill -TERM "$daemon"
eventually 60 ended "$daemon" || fail "the mount does not end"
echo "ended after $((SECONDS - begun)) s"
[ $((SECONDS - begun)) -le 40 ] || fail "the mount of $arrays arrays ends after $((SECONDS - begun)) s"
wait "$daemon" || status=$?
[ $status != 0 ] || fail "it ends with status 0, though nothing was stored"
for ((n = 0; n < arrays; n++)); do
	grep -q "not stored: 'a$n'" "$log" || fail "a$n was not stored, and is not named: $(cat "$log")"
done
kill $writer 2>/dev/null # unless it was refused the rest

#!/usr/bin/env python3
"""unpermitted.py DIR: two web servers on loopback, whose ports it prints. Each answers /KIND/… with 24 bytes of 1: `etag` says the ETag "abc", `weak` a weak one, `date` when it was
modified, in 2026, `plain` neither; `other`, `file` and `address` send elsewhere; /hiding/… are the files of DIR, and what is not there is refused. DIR/asked has a line for each request."""
import http.server
import os
import sys
import threading

DATA, HEADERS = b"\1" * 24, {"etag": ("ETag", '"abc"'), "weak": ("ETag", 'W/"abc"'), "date": ("Last-Modified", "Thu, 01 Jan 2026 00:00:00 GMT")}


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def answer(self, status, body, *headers):
        self.send_response(status)
        for name, value in headers:
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def do_GET(self):
        with open(TOP + "/asked", "a", encoding="utf8") as f:
            f.write("%d %s %s %s\n" % (self.server.number, self.command, self.path, self.headers.get("Authorization", "-")))
        kind, _, rest = self.path[1:].partition("/")
        if kind in GO:
            return self.answer(302, b"", ("Location", GO[kind]))
        if kind == "hiding":
            path = os.path.join(TOP, rest)
            if not os.path.isfile(path):
                return self.answer(403, b"no")
            with open(path, "rb") as f:
                return self.answer(200, f.read())
        begin, _, end = self.headers.get("Range", "bytes=0-23")[6:].partition("-")
        body = DATA[int(begin):int(end or 23) + 1]
        more = [HEADERS[kind]] if kind in HEADERS else []
        return self.answer(206, body, ("Content-Range", "bytes %s-%d/24" % (begin, int(begin) + len(body) - 1)), *more)

    do_HEAD = do_GET


TOP = sys.argv[1]
SERVERS = [http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) for _ in range(2)]
GO = {"other": "http://127.0.0.1:%d/plain/x" % SERVERS[1].server_port, "file": "file:///etc/passwd", "address": "http://169.254.169.254/latest/meta-data"}
for number, server in enumerate(SERVERS):
    server.number = number
    threading.Thread(target=server.serve_forever, daemon=True).start()
print(*(s.server_port for s in SERVERS), flush=True)
threading.Event().wait()

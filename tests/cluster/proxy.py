"""Stands before the S3 server of a trial, on 127.0.0.1. Prints its port.

    proxy.py google ADDRESS    speaks as Google's store does: its condition on an object that must not be there is the server's
    proxy.py faulty ADDRESS    breaks: of its requests some are answered 500 or 503, some are cut off unanswered, and of the first
                               puts that must not find an object the answer is lost after they were carried out
    proxy.py blind ADDRESS     hands out no blob
    proxy.py stuck ADDRESS     takes the results of a merged run and never answers
    proxy.py careless ADDRESS  lets no condition through
    proxy.py denying ADDRESS   refuses the lines of journals
"""

import http.client
import http.server
import itertools
import socket
import sys
import threading
import time
import urllib.parse

KIND, ADDRESS = sys.argv[1:]
SERVER = urllib.parse.urlsplit(ADDRESS).netloc
NUMBERS = itertools.count(1)
LOST = itertools.count(1)
# The server takes one request at a time, and so does this.
LOCK = threading.Lock()


class Proxy(http.server.BaseHTTPRequestHandler):
    def handle_any(self):
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        number = next(NUMBERS)
        if KIND == "faulty" and number % 7 == 3:
            return self.answer(503 if number % 2 else 500, [], b"")
        if KIND == "faulty" and number % 7 == 5:
            return self.cut()
        if KIND == "blind" and self.command == "GET" and "/blobs/" in self.path.split("?")[0]:
            return self.answer(403, [], b"")
        if KIND == "stuck" and self.command == "PUT" and self.path.split("?")[0].endswith("/run/results.json"):
            time.sleep(3600)
        if KIND == "denying" and "/journal/" in self.path:
            return self.answer(403, [], b"")
        if KIND == "careless":
            del self.headers["If-None-Match"]
        with LOCK:
            status, headers, text = self.forward(body)
        is_conditional = self.headers.get("If-None-Match") == "*"
        if KIND == "faulty" and is_conditional and status == 200 and next(LOST) % 5 == 1:
            return self.cut()
        self.answer(status, headers, text)

    def forward(self, body):
        headers = {name.title(): value for name, value in self.headers.items() if name.lower() not in ("host", "connection")}
        if KIND == "google":
            # The server tells by its own kind of key what is asked for.
            headers["Authorization"] = "AWS4-HMAC-SHA256 Credential=k/20260101/us-east-1/s3/aws4_request, SignedHeaders=host, Signature=0"
            if headers.pop("X-Goog-If-Generation-Match", None) == "0":
                headers["If-None-Match"] = "*"
        server = http.client.HTTPConnection(SERVER, timeout=30)
        server.request(self.command, self.path, body, headers)
        answer = server.getresponse()
        text = answer.read()
        server.close()
        kept = [(name, value) for name, value in answer.getheaders() if name.lower() not in ("connection", "transfer-encoding", "content-length")]
        if KIND == "google":
            kept.append(("x-goog-generation", "1"))
        # Of a HEAD the length is the object's.
        length = answer.getheader("Content-Length") if self.command == "HEAD" else None
        return answer.status, [*kept, ("Content-Length", length or str(len(text)))], text

    def answer(self, status, headers, text):
        self.send_response_only(status)
        for name, value in headers or [("Content-Length", "0")]:
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(text)

    def cut(self):
        self.connection.shutdown(socket.SHUT_RDWR)
        self.close_connection = True

    do_GET = do_PUT = do_HEAD = do_POST = do_DELETE = handle_any

    def log_message(self, *_):
        pass


class Server(http.server.ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 128

    def handle_error(self, *_):
        # Who asked was killed.
        pass


server = Server(("127.0.0.1", 0), Proxy)
print(server.server_port, flush=True)
sys.stdout.close()
server.serve_forever()

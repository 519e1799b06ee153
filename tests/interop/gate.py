"""Stands between the host and a server of somebody else's: passes everything on, and writes down what of each request is
not of the official SDKs' types. The answers are the server's own matter: litellm's lack counts that the types demand.

usage: gate.py UPSTREAM PORT PROBLEMS.txt
"""

import sys
import urllib.error
import urllib.request
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import contract

UPSTREAM, PORT, PROBLEMS = sys.argv[1:]
PASSED = ("content-type", "authorization", "x-api-key", "anthropic-version")


class Gate(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self):
        body = self.rfile.read(int(self.headers["content-length"]))
        headers = {name: self.headers[name] for name in PASSED if name in self.headers}
        try:
            with urllib.request.urlopen(urllib.request.Request(UPSTREAM + self.path, body, headers)) as answer:
                status, said = answer.status, answer.read()
        except urllib.error.HTTPError as error:
            status, said = error.code, error.read()
        form = contract.form_of(self.path)
        # Only that format has a field that every server takes and its SDK does not know.
        problems = contract.problems_of_request(form, "anthropic" if form == "messages" else "", body.decode())
        with open(PROBLEMS, "a") as file:
            file.writelines(f"{form}: {problem}\n" for problem in problems)
        self.send_response(status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(said)))
        self.end_headers()
        self.wfile.write(said)

    def log_message(self, *_):
        pass


contract.prove()
ThreadingHTTPServer(("127.0.0.1", int(PORT)), Gate).serve_forever()

"""An S3 server for trials, on 127.0.0.1: moto's, with one request at a time, since its put that only makes an object looks first
and writes then. Prints its port."""

import sys

from moto.server import DomainDispatcherApplication, create_backend_app
from werkzeug.serving import WSGIRequestHandler, make_server


class Silent(WSGIRequestHandler):
    protocol_version = "HTTP/1.0"

    def log(self, *_):
        pass


server = make_server("127.0.0.1", 0, DomainDispatcherApplication(create_backend_app), request_handler=Silent)
print(server.server_port, flush=True)
sys.stdout.close()
server.serve_forever()

"""A collector of spans that reads them by OpenTelemetry's own definitions. Usage: otlp.py PROGRAM SCENE"""

import base64
import http.server
import pathlib
import subprocess
import sys
import threading

from google.protobuf import json_format
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

program, scene = sys.argv[1], pathlib.Path(sys.argv[2])
spans = []


class Collector(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        body = self.rfile.read(int(self.headers["content-length"]))
        # An unknown field or a wrong type is an error here.
        request = json_format.Parse(body, ExportTraceServiceRequest())
        for resource in request.resource_spans:
            for scope in resource.scope_spans:
                spans.extend(scope.spans)
        self.send_response(200)
        self.end_headers()

    def log_message(self, *_):
        pass


def of_hex(identity):
    """OTLP's JSON has ids in hex, and protobuf's own reader takes them for base64."""
    return base64.b64encode(identity).decode()


server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Collector)
threading.Thread(target=server.serve_forever, daemon=True).start()
address = f"http://127.0.0.1:{server.server_port}"
played = ["run", "tasks/suite.toml", "--persona", "law_trainee", "--session", "archive-tidy", "--otlp", address, "-q"]
said = subprocess.run([program, *played, "--out", str(scene / "spans")], check=True, capture_output=True, text=True).stderr
assert "lost" not in said, said
server.shutdown()
names = [span.name for span in spans]
assert "episode law_trainee" in names and "session archive-tidy" in names and "invoke_agent pibench-host" in names, names
for span in spans:
    assert len(of_hex(span.trace_id)) == 32 and len(of_hex(span.span_id)) == 16, span
    assert span.start_time_unix_nano <= span.end_time_unix_nano and span.kind in (1, 3), span
tools = [attribute.value.string_value for span in spans for attribute in span.attributes if attribute.key == "gen_ai.tool.name"]
scores = [event.name for span in spans for event in span.events]
assert tools and scores == ["gen_ai.evaluation.result"] * 2, (tools, scores)
print(f"otlp: {len(spans)} spans are read by OpenTelemetry's definitions")

"""A model server for trials without a key: chat completions on 127.0.0.1, each after a while. It plays the agent only: a file is
written, then it says so. What it answers follows from the question alone.

    model.py FILE DELAY     writes the port into FILE; DELAY in seconds. What FILE.word holds, if it is there, is written too
"""

import json
import os
import sys
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

place, delay = sys.argv[1], float(sys.argv[2])


def called(name, arguments):
    function = {"name": name, "arguments": json.dumps(arguments)}
    return {"role": "assistant", "content": None, "tool_calls": [{"id": "c1", "type": "function", "function": function}]}


def word():
    """Real models do not say the same twice."""
    try:
        with open(place + ".word") as file:
            return file.read()
    except FileNotFoundError:
        return ""


def answer(body):
    tools = [tool["function"]["name"] for tool in body.get("tools") or []]
    last = body["messages"][-1]
    if str(last.get("content")).startswith("The session is over. Call save_memory"):
        return called("save_memory", {"history_entry": "Worked on it.", "memory_update": "Likes order."})
    if "write_file" not in tools or last["role"] == "tool":
        return {"role": "assistant", "content": "I have written out.md."}
    return called("write_file", {"path": "out.md", "content": f"{len(body['messages'])} messages{word()}"})


class Model(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        time.sleep(delay)
        message = answer(body)
        finish = "tool_calls" if message.get("tool_calls") else "stop"
        usage = {"prompt_tokens": 100, "completion_tokens": 10, "total_tokens": 110}
        choice = {"index": 0, "message": message, "finish_reason": finish}
        text = {"id": "1", "object": "chat.completion", "created": 0, "model": "m", "choices": [choice], "usage": usage}
        text = json.dumps(text).encode()
        try:
            self.send_response(200)
            self.send_header("content-type", "application/json")
            self.send_header("content-length", str(len(text)))
            self.end_headers()
            self.wfile.write(text)
        except OSError:
            # Who asked was killed.
            self.close_connection = True


class Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 128


server = Server(("127.0.0.1", 0), Model)
with open(place + ".new", "w") as file:
    file.write(str(server.server_port))
os.rename(place + ".new", place)
server.serve_forever()

"""Plays the law trainee with the agents beside this file, each on a framework of its own over `pibench_host.serve`. Their model is
a server of this test's that plays the reference workflow from the conversation alone: the scores have to be those of the built-in
policy, and what a tool did not do reaches the model as text.

usage: play.py PROGRAM SUITE.toml
"""

import http.server
import json
import os
import subprocess
import sys
import tempfile
import threading
from pathlib import Path

INTEROP = Path(__file__).parent.parent
sys.path.insert(0, str(INTEROP))

from workflow import fill, opens, scores, sessions

PROGRAM, SUITE = (os.path.abspath(path) for path in sys.argv[1:])
TOLD = list(sessions(SUITE))
# Two calls at the same time, one of them in vain: frameworks make the calls of one answer side by side.
FIRST = [("list_dir", {"path": "."}), ("read_file", {"path": "no-such-file.md"})]
AGENTS = {"LangGraph": ("langgraph_agent.py", "/v1/chat/completions"), "OpenAI Agents SDK": ("openai_agent.py", "/v1/responses")}


def go_on(conversation):
    """The next step of a conversation, pairs of who spoke and what: calls, or a text."""
    asked = [text for who, text in conversation if who == "user"]
    results = [text for who, text in conversation if who == "result"]
    session = next((one for one in TOLD if opens(one, asked[0])), None)
    if len(asked) > 1 or session is None:
        return [], "Done."
    if not results:
        return FIRST, ""
    saved, said, results = {}, [], results[len(FIRST):]
    for step in session.get("reference", []):
        if "say" in step:
            said.append(step["say"].strip())
        elif results:
            text = results.pop(0)
            if "save" in step:
                saved[step["save"]] = json.loads(text)
        else:
            return [(step["tool"], fill(step.get("arguments", {}), saved))], ""
    return [], "\n\n".join(part for part in said if part) or "Done."


def plain(content):
    return content if isinstance(content, str) else "".join(part.get("text", "") for part in content)


class Model(http.server.BaseHTTPRequestHandler):
    """Answers chat completions and responses."""

    protocol_version = "HTTP/1.1"
    # Where it was asked, and what it was told of the call in vain.
    places, failures = set(), set()

    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        Model.places.add(self.path)
        read, write = (read_chat, write_chat) if self.path.endswith("completions") else (read_items, write_items)
        conversation = read(body)
        results = [text for who, text in conversation if who == "result"]
        Model.failures.update(results[1:2])
        calls, text = go_on(conversation)
        # Unlike those before, as a server's are.
        number = len(conversation)
        calls = [(f"call_{number}_{place}", name, json.dumps(arguments)) for place, (name, arguments) in enumerate(calls)]
        answer = json.dumps(write(calls, text)).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)

    def log_message(self, *_):
        pass


def read_chat(body):
    names = {"user": "user", "tool": "result", "assistant": "said"}
    return [(names[one["role"]], plain(one.get("content") or "")) for one in body["messages"] if one["role"] in names]


def write_chat(calls, text):
    message = {"role": "assistant", "content": text or None}
    if calls:
        message["tool_calls"] = [
            {"id": id, "type": "function", "function": {"name": name, "arguments": arguments}} for id, name, arguments in calls
        ]
    choice = {"index": 0, "message": message, "finish_reason": "tool_calls" if calls else "stop"}
    usage = {"prompt_tokens": 7, "completion_tokens": 3, "total_tokens": 10}
    return {"id": "c", "object": "chat.completion", "created": 1, "model": "m", "choices": [choice], "usage": usage}


def read_items(body):
    told = []
    for item in body["input"]:
        if item.get("type") == "function_call_output":
            told.append(("result", plain(item["output"])))
        elif item.get("role") in ("user", "assistant"):
            told.append(("user" if item["role"] == "user" else "said", plain(item["content"])))
    return told


def write_items(calls, text):
    items = [
        {"type": "function_call", "id": f"fc_{id}", "call_id": id, "name": name, "arguments": arguments, "status": "completed"}
        for id, name, arguments in calls
    ]
    if text:
        content = [{"type": "output_text", "text": text, "annotations": []}]
        items.append({"type": "message", "id": "msg_1", "role": "assistant", "status": "completed", "content": content})
    usage = {
        "input_tokens": 7, "output_tokens": 3, "total_tokens": 10,
        "input_tokens_details": {"cached_tokens": 0}, "output_tokens_details": {"reasoning_tokens": 0},
    }
    return {
        "id": "resp_1", "object": "response", "created_at": 1, "model": "m", "status": "completed", "output": items, "usage": usage,
        "parallel_tool_calls": True, "tool_choice": "auto", "tools": [],
    }


def main():
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Model)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    surroundings = {
        **os.environ,
        "OPENAI_BASE_URL": f"http://127.0.0.1:{server.server_port}/v1",
        "OPENAI_API_KEY": "of-no-worth",
        "OPENAI_AGENTS_DISABLE_TRACING": "1",
        "PYTHONPATH": str(INTEROP.parent.parent / "host" / "python"),
        "PATH": f"{Path(PROGRAM).parent}:{os.environ['PATH']}",
    }
    trainee = [SUITE, "--persona", "law_trainee"]
    with tempfile.TemporaryDirectory() as folder:
        done = subprocess.run([PROGRAM, "run", *trainee, "--json", "--out", f"{folder}/built-in"], check=True, capture_output=True)
        expected = scores(json.loads(done.stdout))
        for framework, (script, place) in AGENTS.items():
            Model.places.clear()
            Model.failures.clear()
            out = f"{folder}/{script}"
            command = [sys.executable, "-B", str(Path(__file__).parent / script), *trainee]
            command += ["--user", "lexical", "--judge", "lexical", "--out", out]
            done = subprocess.run(command, env=surroundings, capture_output=True, text=True)
            if done.returncode != 0:
                raise SystemExit(f"{framework}: exit code {done.returncode}:\n{done.stdout}\n{done.stderr}")
            found = scores(json.loads(Path(out, "results.json").read_text()))
            if found != expected:
                raise SystemExit(f"scores differ on {framework}:\n{found}\n{expected}")
            assert Model.places == {place}, Model.places
            assert Model.failures and all("no-such-file.md" in text for text in Model.failures), Model.failures
            print(f"{len(found)} sessions on {framework}: the same scores as the built-in policy")


main()

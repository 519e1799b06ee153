"""Plays the law trainee of the embedded suite with agents on the protocol's official SDKs, and one session with a product from
npm whose model is a server of this file's own.

usage: play.py PROGRAM SUITE.toml NODE_FOLDER VENV
"""

import http.server
import json
import os
import subprocess
import sys
import tempfile
import threading
import tomllib
from pathlib import Path

PROGRAM, SUITE, NODE, VENV = (os.path.abspath(path) for path in sys.argv[1:])
HERE = os.path.dirname(os.path.abspath(__file__))
JUDGED = ["--user", "lexical", "--judge", "lexical", "--runs", "1"]


def sessions(persona):
    """Requests and workflows, as an agent of a test is told them."""
    folder = Path(SUITE).parent / "personas" / persona
    for entry in tomllib.loads((folder / "persona.toml").read_text())["episode"]:
        session = tomllib.loads((folder / "sessions" / entry["session"] / "session.toml").read_text())
        yield {"request": session["request"], "reference": session.get("reference")}


def scores(results):
    return [(line["id"], line["proc"], line["comp"], line["outcome"]) for line in results["sessions"]]


def run(*args, ok=(0,), **env):
    done = subprocess.run([PROGRAM, "run", SUITE, *args], capture_output=True, text=True, env={**os.environ, **env})
    if done.returncode not in ok:
        raise SystemExit(f"exit code {done.returncode}:\n{done.stdout}\n{done.stderr}")
    return done


def entry(name, command, tools="all", **more):
    fields = {"command": command, "tools": tools, **more}
    return ["--set", f"agents.{name}={toml(fields)}", "--agent", f"acp:{name}"]


def toml(value):
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{key} = {toml(item)}" for key, item in value.items()) + " }"
    return json.dumps(value)


class Model(http.server.BaseHTTPRequestHandler):
    """Answers as the Gemini API does: first with a call of one of the user's tools, then with words."""

    asked = []

    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])) or "{}")
        tools = [one["name"] for tool in body.get("tools", []) for one in tool.get("functionDeclarations", [])]
        Model.asked.append((self.path, tools))
        ours = [name for name in tools if name.endswith("message") and "pibench" in name or name == "message"]
        answered = any("functionResponse" in part for turn in body.get("contents", []) for part in turn.get("parts", []))
        if "countTokens" in self.path:
            return self.answer({"totalTokens": 10}, "application/json")
        asked = body.get("generationConfig", {})
        if asked.get("responseJsonSchema") or asked.get("responseSchema"):
            # Whose turn it is, and which model is to answer.
            words = {"reasoning": "it is done", "next_speaker": "user", "model_choice": "flash", "complexity_reasoning": "easy", "complexity_score": 1}
            parts = [{"text": json.dumps(words)}]
        elif ours and not answered:
            parts = [{"functionCall": {"name": ours[0], "args": {"content": "Said by a tool."}}}]
        else:
            parts = [{"text": "Said by the model."}]
        usage = {"promptTokenCount": 7, "candidatesTokenCount": 3, "totalTokenCount": 10}
        candidate = {"content": {"role": "model", "parts": parts}, "finishReason": "STOP", "index": 0}
        answer = {"candidates": [candidate], "usageMetadata": usage}
        if "stream" in self.path:
            self.answer(answer, "text/event-stream")
        else:
            self.answer(answer, "application/json")

    def answer(self, value, kind):
        text = json.dumps(value)
        text = f"data: {text}\n\n" if kind == "text/event-stream" else text
        self.send_response(200)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(text.encode())))
        self.end_headers()
        self.wfile.write(text.encode())

    def do_GET(self):
        self.answer({}, "application/json")

    def log_message(self, *_):
        pass


def product(folder):
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Model)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    settings = {
        "GEMINI_API_KEY": "of-no-worth",
        "GOOGLE_GEMINI_BASE_URL": f"http://127.0.0.1:{server.server_port}",
        "GEMINI_CLI_TRUST_WORKSPACE": "true",
        "GEMINI_MODEL": "gemini-2.5-flash",
        "GEMINI_DEFAULT_AUTH_TYPE": "gemini-api-key",
    }
    command = [f"{NODE}/node_modules/.bin/gemini", "--acp"]
    name = "corrie-extension"
    out = f"{folder}/product"
    run(*entry("gemini", command, tools="apps", set=settings), *JUDGED, "--persona", "law_trainee", "--session", name,
        "--set", "session.max_turns=2", "--set", "session.turn_timeout_s=120", "--out", out)
    turns = [json.loads(line) for line in open(f"{out}/journal/law_trainee.r1.jsonl")]
    turns = [turn for turn in turns if turn["event"] == "turn"]
    said = [turn["response"] for turn in turns]
    calls = [step["record"]["tool"] for turn in turns for step in turn["steps"] if step["step"] == "call"]
    assert any("Said by the model." in text for text in said), said
    assert "message" in calls, (calls, Model.asked[:3])
    tokens = sum(turn["usage"]["agent"]["input_tokens"] for turn in turns)
    print(f"gemini-cli from npm: {len(turns)} turns, calls {calls}, {tokens} input tokens told")


def main():
    with tempfile.TemporaryDirectory() as folder:
        told = f"{folder}/sessions.json"
        Path(told).write_text(json.dumps(list(sessions("law_trainee"))))
        trainee = ["--persona", "law_trainee"]
        done = run(*trainee, "--json", "--out", f"{folder}/built-in")
        expected = scores(json.loads(done.stdout))
        agents = {
            "TypeScript": (["node", f"{NODE}/agent.mjs", told], {}),
            "Python": ([f"{VENV}/bin/python", "-B", f"{HERE}/sdk_agent.py", told], {}),
        }
        for language, (command, more) in agents.items():
            out = f"{folder}/{language}"
            done = run(*entry("sdk", command, **more), *JUDGED, *trainee, "--json", "--out", out)
            found = scores(json.loads(done.stdout))
            if found != expected:
                raise SystemExit(f"scores differ with the {language} SDK:\n{found}\n{expected}")
            print(f"{len(found)} sessions with the {language} SDK: the same scores as the built-in policy")
        product(folder)


main()

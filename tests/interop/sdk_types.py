"""Plays the suite beside this file against a server that answers by a script, once for each built-in model: every request
that the host sends must be one of the official SDKs' own types, and so must every answer that it reads; thinking must come
back as it was given, and the record must hold what was said and counted.

usage: sdk_types.py PROGRAM PROVIDERS.toml SUITE.toml
SUITE.toml is one whose tools are looked at, too: its sessions are begun, and no more.
"""

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import threading
import tomllib
from collections import Counter
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import contract
import dialect
from dialect import Answer

SUITE = Path(__file__).parent / "suite"
KEY = "sk-interop-0123456789"
ROTA = "No water for bed 7, which rests.\n\n- Mon Ines\n- Tue Tomas\n- Wed Bea\n- Thu Otto\n- Fri Tomas\n"
QUESTION = "From what time may the tap run?"
REFUSAL = "I would rather not say more about it."
CUT = ("The board shows", " the names of five members.")
MEMORY = {"history_entry": "Wrote the rota.", "memory_update": "Bed 7 rests."}

# What the agent answers, in this order. The first turn ends after the third answer, the second after the seventh.
ROTA_ANSWERS = [
    Answer([
        ("thought", "Two papers to look at."),
        ("text", "I look at both."),
        ("thought", "The board comes second."),
        ("call", "a1", "read_file", {"path": "club/members.md"}),
        ("call", "a2", "read_file", {"path": "club/board.png"}),
    ]),
    Answer([("thought", "It is a long list."), ("text", CUT[0])], stop="length"),
    Answer([("text", CUT[1])]),
    Answer([("thought", "Now the file."), ("call", "b1", "write_file", {"path": "club/rota.md", "content": ROTA})]),
    Answer([("thought", "Nothing to add.")]),
    Answer([("thought", "Nothing at all.")]),
    Answer([("text", f"The rota is written. {QUESTION}")]),
    Answer([("text", REFUSAL)], stop="refused"),
]
THANKS_ANSWERS = [Answer([("text", "Dear")], stop="filtered")]

# What the host must be seen to do in each format.
WANTED = {
    "agent", "user", "judge", "parallel calls", "picture", "thinking given back", "gone on with", "choice none",
    "save_memory", "soft refusal", "filtered",
}


class Server:
    """Answers by the script, and notes what it sees."""

    def __init__(self):
        self.number = 0
        self.lock = threading.Lock()
        self.problems = Counter()
        self.begin("")

    def begin(self, provider):
        """A run of this provider's model."""
        self.provider = provider
        self.seen, self.counts, self.sent, self.steps, self.tools = set(), Counter(), {}, Counter(), set()

    def answer(self, form, headers, text):
        with self.lock:
            self.number += 1
            body = json.loads(text)
            problems = contract.problems_of_request(form, self.provider, text) + self.headers(form, headers)
            asked = dialect.read(form, body)
            problems += self.given_back(form, body)
            if asked.parts[-1].role == "assistant":
                problems.append("the chat ends with the assistant's words")
            answer = self.say(asked)
            written = json.dumps(dialect.write(form, self.provider, self.number, answer))
            problems += [f"of the answer: {problem}" for problem in contract.problems_of_answer(form, self.provider, written)]
            for _, call_id, *_ in [piece for piece in answer.pieces if piece[0] == "call"]:
                self.sent[call_id] = json.loads(written)
            self.counts.update(dialect.usage(form, self.provider, self.number))
            self.problems.update(f"{form}, {self.provider}: {problem}" for problem in problems)
            return written

    def headers(self, form, headers):
        wanted = {"content-type": "application/json", "authorization": f"Bearer {KEY}"}
        if form == "messages":
            wanted = {"content-type": "application/json", "x-api-key": KEY, "anthropic-version": "2023-06-01"}
        return [f"the header {name} is {headers.get(name)}" for name, value in wanted.items() if headers.get(name) != value]

    def say(self, asked):
        last = asked.parts[-1]
        self.tools |= set(asked.tools)
        if not asked.tools:
            return self.judge(asked.parts)
        self.seen.add("agent")
        requests = [part.text for part in asked.parts if part.role == "user"]
        if "save_memory" in last.text:
            self.seen.add("save_memory")
            return Answer([("call", f"m{self.number}", "save_memory", MEMORY)])
        session = "thanks" if "Otto swapped" in requests[0] else "rota" if "watering rota" in requests[0] else None
        if session is None:
            return Answer([("text", "Ready.")])
        self.look(asked)
        step = self.steps[session]
        self.steps[session] += 1
        answer = (THANKS_ANSWERS if session == "thanks" else ROTA_ANSWERS)[step]
        self.seen |= {"soft refusal"} if answer.stop == "refused" else {"filtered"} if answer.stop == "filtered" else set()
        return answer

    def look(self, asked):
        """What of the wanted a request of the agent's shows."""
        if any(len(part.calls) > 1 for part in asked.parts):
            self.seen.add("parallel calls")
        if any(part.picture for part in asked.parts):
            self.seen.add("picture")
        if any(part.role == "user" and "cut off" in part.text for part in asked.parts):
            self.seen.add("gone on with")
        if asked.choice == "none":
            self.seen.add("choice none")

    def judge(self, parts):
        """In the format that the prompt asks for, as user agent and as judge."""
        system, prompt = parts[0].text, parts[-1].text
        message = re.search(r"(=== \S+ MESSAGE ===)\n<the message>\n(=== \S+ END ===)", system)
        if message:
            self.seen.add("user")
            return Answer([("text", f"{message[1]}\nI want it done properly.\n{message[2]}")])
        header = re.search(r"=== (\S+) ITEM <", system)
        if not header:
            return Answer([("text", "Ready.")])
        grades = "\n# Criteria" in prompt
        self.seen.add("judge" if grades else "user")
        items = re.findall(r"(?m)^(\d+)\. (.+)$", prompt.split("\n# ")[-1])
        # The question is about one of the intents, and nothing of the work shows any.
        asks = QUESTION in prompt and "tool calls" not in prompt
        met = lambda text: "Monday to Friday" in text if grades else asks and "19:30" in text
        block = lambda number, text, rest: f"=== {header[1]} ITEM {number} ===\nTEXT: {text}\n{rest}"
        if "REASON:" in system:
            return Answer([("text", block(*items[0], "REASON: it comes first"))])
        verdicts = [block(*item, f"EVIDENCE: as seen\nVERDICT: {'YES' if met(item[1]) else 'NO'}") for item in items]
        return Answer([("text", "\n".join(verdicts))])

    def given_back(self, form, body):
        """Whether an answer that had calls comes back with its thinking, all of it in its order."""
        check = {"chat": self.chat_given_back, "responses": self.items_given_back, "messages": self.blocks_given_back}[form]
        found = list(check(body))
        if found:
            self.seen.add("thinking given back")
        return [f"an answer comes back as {back}, and was {sent}" for back, sent in found if back != sent]

    def chat_given_back(self, body):
        fields = contract.EXTENSIONS.get(self.provider, {})
        pick = lambda table, place: {key: table[key] for key in fields.get(place, {}) if key in table}
        whole = lambda message: [pick(message, "message"), *(pick(call, "call") for call in message["tool_calls"])]
        for message in body["messages"]:
            sent = self.sent.get((message.get("tool_calls") or [{}])[0].get("id"))
            if sent:
                yield whole(message), whole(sent["choices"][0]["message"])

    def items_given_back(self, body):
        def mark(item):
            match item["type"]:
                case "reasoning":
                    return ("reasoning", item.get("id"), item["encrypted_content"], item["summary"])
                case "function_call":
                    return ("call", item["call_id"], item["arguments"])
            return ("message", dialect.content_text(item["content"]), item.get("phase"))

        items = [{"type": "message", **item} for item in body["input"]]
        own = [mark(item) for item in items if item["type"] in ("reasoning", "function_call") or item.get("role") == "assistant"]
        for sent in {sent["id"]: sent for sent in self.sent.values()}.values():
            wanted = [mark(item) for item in sent["output"]]
            calls = [one for one in wanted if one[0] == "call"]
            if calls[-1] in own:
                end = own.index(calls[-1]) + 1
                yield own[end - len(wanted) : end], wanted

    def blocks_given_back(self, body):
        keys = ("type", "text", "thinking", "signature", "data", "id", "name", "input")
        marks = lambda content: [{key: block[key] for key in keys if key in block} for block in content]
        for message in body["messages"]:
            calls = [block["id"] for block in message["content"] if block["type"] == "tool_use"]
            if calls and calls[0] in self.sent:
                yield marks(message["content"]), marks(self.sent[calls[0]]["content"])


def serve(server):
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self):
            text = self.rfile.read(int(self.headers["content-length"])).decode()
            written = server.answer(contract.form_of(self.path), self.headers, text).encode()
            self.send_response(200)
            self.send_header("content-type", "application/json")
            self.send_header("content-length", str(len(written)))
            self.end_headers()
            self.wfile.write(written)

        def log_message(self, *_):
            pass

    http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=http.serve_forever, daemon=True).start()
    return f"http://127.0.0.1:{http.server_port}/v1"


def toml(value):
    """As TOML has it, on one line."""
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{json.dumps(key)} = {toml(one)}" for key, one in value.items()) + " }"
    return json.dumps(value)


def play(program, folder, url, catalog, model):
    """A run with the model in all roles; its folder."""
    name = catalog["models"].get(model, {"provider": model.split("/")[0]})["provider"]
    provider = {**catalog["providers"][name], "base_url": url, "key_env": "INTEROP_KEY"}
    provider.pop("base_url_env", None)
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(SUITE, folder / "suite")
    with open(folder / "suite" / "suite.toml", "a") as suite:
        suite.write(f"\n[providers]\n{name} = {toml(provider)}\n")
    roles = [word for role in ("--agent", "--user", "--judge") for word in (role, model)]
    command = [program, "run", folder / "suite" / "suite.toml", "--runs", "1", "--json", "--out", folder / "run", *roles]
    run(command, {"INTEROP_KEY": KEY}, 9)
    return folder / "run"


def run(command, variables, expected):
    done = subprocess.run(command, capture_output=True, text=True, env={**os.environ, **variables})
    if done.returncode != expected:
        raise SystemExit(f"interop: {command} ended with {done.returncode}\n{done.stderr}")


def begin_all(program, folder, url, suite):
    """One turn of each session, in which the agent has nothing to say: what is looked at are the tools of all personas."""
    roles = ["--agent", "openai/plain", "--user", "lexical", "--judge", "lexical"]
    command = [program, "run", suite, "--runs", "1", "--set", "session.max_turns=1", "--out", folder / "tools", *roles]
    run(command, {"OPENAI_BASE_URL": url, "OPENAI_API_KEY": KEY}, 0)


def check_record(run, server, thinks):
    """Whether the record holds what was said and counted."""
    results = json.loads((run / "results.json").read_text())
    counted = Counter()
    for roles in (results["usage"], results.get("preflight", {})):
        for usage in roles.values():
            counted.update({key: usage.get(key, 0) for key in server.counts})
    wrong = [f"{key} {counted[key]}, and {count} were sent" for key, count in server.counts.items() if counted[key] != count]
    outcomes = [session["outcome"] for session in results["sessions"]]
    if outcomes != ["complete", "model_fault"]:
        wrong.append(f"the sessions ended {outcomes}")
    told = (run / "trajectories" / "garden.r1" / "rota.json").read_text()
    said = ["".join(CUT), QUESTION, REFUSAL, "I look at both.", "Now the file." if thinks else ""]
    return wrong + [f"the trajectory lacks `{text}`" for text in said if json.dumps(text)[1:-1] not in told]


def prove_answers():
    """As `contract.prove`, for answers: a key too many is refused anywhere."""
    answer = Answer([("thought", "hm"), ("text", "I look."), ("call", "c1", "look", {})])
    for form, place in (("chat", "choices"), ("responses", "output"), ("messages", "content")):
        sound = json.dumps(dialect.write(form, "openai", 1, answer))
        assert not contract.problems_of_answer(form, "openai", sound), form
        for pick in (lambda body: body, lambda body: body[place][0], lambda body: body["usage"]):
            spoilt = json.loads(sound)
            pick(spoilt)["ally"] = 1
            assert contract.problems_of_answer(form, "openai", json.dumps(spoilt)), form


def main():
    program, providers, suite = sys.argv[1:]
    contract.prove()
    prove_answers()
    catalog = tomllib.loads(Path(providers).read_text())
    server = Server()
    url = serve(server)
    failed = []
    with tempfile.TemporaryDirectory() as folder:
        for model in [*catalog["models"], "openai/plain"]:
            preset = catalog["models"].get(model, {"provider": "openai"})
            form = preset.get("format", catalog["providers"][preset["provider"]].get("format", "chat"))
            form = {"anthropic": "messages", "openai": "chat"}.get(form, form)
            server.begin(preset["provider"])
            run = play(program, Path(folder), url, catalog, model)
            # A model that sees no pictures is told what the file is; the official chat format shows no thinking.
            lacks = {"picture"} if not preset.get("vision", True) else set()
            thinks = form != "chat" or preset["provider"] in dialect.TEXT + dialect.DETAILS
            wrong = check_record(run, server, thinks) + [f"it was not seen: {one}" for one in WANTED - lacks - server.seen]
            failed += [f"{model}: {problem}" for problem in wrong]
            print(f"interop: {model}: {server.counts['calls']} requests in the format {form}")
        server.begin("openai")
        begin_all(program, Path(folder), url, suite)
        print(f"interop: {len(server.tools)} tools, of all personas")
    failed += [f"{problem} ({count} times)" for problem, count in server.problems.items()]
    if failed:
        raise SystemExit("\n".join(failed))


main()

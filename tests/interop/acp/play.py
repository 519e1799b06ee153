"""Plays the law trainee of the embedded suite with agents on the protocol's official SDKs, and one session with each product from
npm whose model is a server of the test's own.

usage: play.py PROGRAM SUITE.toml NODE_FOLDER VENV
"""

import json
import os
import subprocess
import sys
import tempfile
import tomllib
from pathlib import Path

import models

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


def play(name, command, folder, model, **fields):
    """Two turns of a session with a product whose model is a server of the test's own; the turns as the journal has them."""
    out = f"{folder}/{name}"
    run(*entry(name, command, tools="apps", **fields), *JUDGED, "--persona", "law_trainee", "--session", "corrie-extension",
        "--set", "session.max_turns=2", "--set", "session.turn_timeout_s=120", "--out", out)
    turns = [json.loads(line) for line in open(f"{out}/journal/law_trainee.r1.jsonl")]
    turns = [turn for turn in turns if turn["event"] == "turn"]
    calls = [step["record"] for turn in turns for step in turn["steps"] if step["step"] == "call"]
    tools = [call["tool"] for call in calls]
    tokens = [turn["usage"]["agent"]["input_tokens"] for turn in turns]
    said = [turn["response"] for turn in turns]
    assert len(turns) == 2 and any(models.SAID in text for text in said), (said, model.asked[:3])
    assert "message" in tools, (tools, model.asked[:3])
    # Each turn has its own: those of a turn are not counted from the session's sum.
    assert all(count > 0 for count in tokens), tokens
    print(f"{name} from npm: {len(turns)} turns, calls {tools}, {tokens} input tokens told")
    return calls


def gemini(folder):
    address = models.serve(models.Gemini)
    given = {
        "GEMINI_API_KEY": "of-no-worth",
        "GOOGLE_GEMINI_BASE_URL": address,
        "GEMINI_CLI_TRUST_WORKSPACE": "true",
        "GEMINI_MODEL": "gemini-2.5-flash",
        "GEMINI_DEFAULT_AUTH_TYPE": "gemini-api-key",
    }
    play("gemini-cli", [f"{NODE}/node_modules/.bin/gemini", "--acp"], folder, models.Gemini, set=given)


def claude(folder):
    given = {"ANTHROPIC_API_KEY": "of-no-worth", "ANTHROPIC_BASE_URL": models.serve(models.Claude)}
    command = [f"{NODE}/node_modules/.bin/claude-agent-acp"]
    calls = play("claude-agent-acp", command, folder, models.Claude, set=given, mode="default")
    check_command(calls)
    asked = [call["arguments"] for call in calls if call["tool"] == "agent.permission"]
    assert any(models.COMMAND in one["title"] for one in asked), asked


def codex(folder):
    server = {"name": "mock", "base_url": f"{models.serve(models.Codex)}/v1", "env_key": "OPENAI_API_KEY", "wire_api": "responses"}
    config = {"model": "gpt-5.4", "model_provider": "mock", "model_providers": {"mock": server}}
    built_in = tomllib.loads(Path(HERE, "../../../host/crates/suite/src/agents.toml").read_text())["codex-acp"]
    given = {**built_in["set"], "OPENAI_API_KEY": "of-no-worth", "CODEX_CONFIG": json.dumps(config)}
    calls = play("codex-acp", [f"{NODE}/node_modules/.bin/codex-acp"], folder, models.Codex, set=given)
    check_command(calls)


def check_command(calls):
    """What a command of the product's own printed is in the record."""
    ran = [call["result"] for call in calls if call["tool"] in ("agent.execute", "agent.exec_command")]
    assert any(models.PRINTED in text for text in ran), calls


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
        for product in (gemini, claude, codex):
            product(folder)


main()

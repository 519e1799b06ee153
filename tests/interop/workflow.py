"""The reference workflows of a suite's sessions, for agents that play them from outside: what the built-in policy does."""

import json
import re
import tomllib
from pathlib import Path

PLACEHOLDER = re.compile(r"\{\{(.*?)\}\}")


def sessions(suite):
    """The sessions in the order of play: request and workflow."""
    root = Path(suite).parent
    for persona in tomllib.loads(Path(suite).read_text())["personas"]:
        folder = root / persona
        for entry in tomllib.loads((folder / "persona.toml").read_text())["episode"]:
            file = folder / "sessions" / entry["session"] / "session.toml"
            yield tomllib.loads(file.read_text())


def find(path, saved):
    name, *parts = path.strip().split(".")
    value = saved[name]
    for part in parts:
        value = value[int(part)] if isinstance(value, list) else value[part]
    return value


def fill(value, saved):
    """As the built-in policy fills in what earlier calls gave."""
    if isinstance(value, list):
        return [fill(item, saved) for item in value]
    if isinstance(value, dict):
        return {key: fill(item, saved) for key, item in value.items()}
    if not isinstance(value, str):
        return value
    whole = PLACEHOLDER.fullmatch(value)
    if whole:
        return find(whole[1], saved)

    def text(match):
        found = find(match[1], saved)
        return found if isinstance(found, str) else json.dumps(found)

    return PLACEHOLDER.sub(text, value)


def opens(session, message):
    """Whether a message is a session's first. A request that is a signal stands escaped in JSON, where line ends are not."""
    line = session["request"].strip().split("\n")[0]
    return line in message or json.dumps(line, ensure_ascii=False)[1:-1] in message


def scores(results):
    return [(line["id"], line["proc"], line["comp"], line["outcome"]) for line in results["sessions"]]

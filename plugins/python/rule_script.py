"""Runs a rule script of the public benchmark format on the calls of a session.

A script defines `score(tools_history: list[dict]) -> dict[str, 0 | 1 | bool]`; `score([])` names its checks. This
module knows nothing of WIT: `plugin` hands it plain data, so that it is tested natively. It never changes a script and
never judges by itself.
"""

import contextlib
import json
import linecache
import os
import random
import sys
import traceback
import types
from dataclasses import dataclass

PAPER = "paper"
PI_BENCH = "pi-bench"

# How the reference names the tools of apps in traces; its scripts look for these names.
APP_TOOL_PREFIX = "mcp_appworld_"

# What a script is called in tracebacks.
SCRIPT_FILE = "script.py"

# Where the workspace is open, read-only; scripts look for its files by relative paths.
WORKSPACE = "/workspace"

# The interface's bound on a reason or message, in bytes.
MESSAGE_BYTES = 4096

# How many frames of a traceback are shown: to format the thousand of a recursion takes a third of the fuel.
FRAMES = 12


class RuleError(Exception):
    """The configuration or the script is wrong; the text says how."""


@dataclass(frozen=True)
class Config:
    """What the task file says about the script."""

    script: str
    # `paper` shows every successful call of the session; `pi-bench` what the released code shows.
    protocol: str
    # Under `pi-bench`: the tools whose calls are shown, by the exact names that scripts see; empty for all. `paper` shows all.
    tools: frozenset


@dataclass(frozen=True)
class Call:
    """One tool call as the evidence has it."""

    turn: int
    tool: str
    # JSON.
    arguments: str
    ok: bool
    # JSON of an app, text of a built-in tool, message of a refusal.
    result: str
    # Whether an app refused it; otherwise it did not get there, or broke.
    refused: bool = False


@dataclass(frozen=True)
class Score:
    """The verdict on one check."""

    check: str
    passed: bool
    reason: str


def parse_config(text):
    """The configuration from its JSON text; keys other than `script`, `protocol` and `tools` are errors."""
    table = json.loads(text)
    if not isinstance(table, dict):
        raise RuleError("config: must be a table")
    for key in table:
        if key not in ("script", "protocol", "tools"):
            raise RuleError(f"config.{key}: unknown key; known are script, protocol and tools")
    script = table.get("script")
    if not isinstance(script, str) or not script.strip():
        raise RuleError("config.script: must be the text of a Python script")
    protocol = table.get("protocol", PAPER)
    if protocol not in (PAPER, PI_BENCH):
        raise RuleError(f"config.protocol: must be {PAPER!r} or {PI_BENCH!r}, not {protocol!r}")
    tools = table.get("tools", [])
    if not isinstance(tools, list) or not all(isinstance(name, str) for name in tools):
        raise RuleError("config.tools: must be a list of tool names")
    return Config(script, protocol, frozenset(tools))


def tools_history(config, calls, turn):
    """The list that a script sees of `calls`, at the end of turn `turn`."""
    if config.protocol == PAPER:
        return [history_item(call) for call in calls if call.ok]
    # The released code keeps a tool's last call at the place of its first.
    last = {}
    for call in calls:
        if call.turn == turn and (not config.tools or shown_name(call.tool) in config.tools):
            last[call.tool] = history_item(call)
    return list(last.values())


def shown_name(tool):
    return APP_TOOL_PREFIX + tool if "__" in tool else tool


def history_item(call):
    """One call in the shape of the reference's traces. Of an app a refused call looks like any other, with the refusal as its
    message; what the schema refused or what broke is a plain text."""
    arguments = parsed(call.arguments)
    return {
        "tool_name": shown_name(call.tool),
        "call": arguments if isinstance(arguments, dict) else {},
        "result": shown_result(call),
    }


def shown_result(call):
    if not (call.ok or call.refused):
        return f"Error: {call.result}"
    if "__" not in call.tool:
        return parsed(call.result)
    if call.refused:
        return {"response": {"message": call.result}}
    try:
        return {"response": json.loads(call.result)}
    except ValueError:
        # Of an imported run: no app answers so.
        return call.result


def parsed(text):
    """JSON where the text is JSON, else the text."""
    try:
        return json.loads(text)
    except ValueError:
        return text


def check_names(config):
    """The names of the script's checks, in its order."""
    return list(initial_scores(load(config.script)))


def grade(config, calls, turn, warn):
    """One `Score` for each check. `warn` is called with a line for each key of the answer that is no check. Under `pi-bench` a
    script that fails on the calls gives 0 for each check, as the released code has it."""
    score = load(config.script)
    names = initial_scores(score)
    try:
        found = scores_of(score, tools_history(config, calls, turn), names, warn)
    except RuleError as error:
        if config.protocol != PI_BENCH:
            raise
        return [Score(name, False, str(error)) for name in names]
    return [verdict(name, found.get(name)) for name in names]


def scores_of(score, history, names, warn):
    """Check to value, as the script answers."""
    found = {}
    for name, value in keyed(run(score, history), "score(tools_history)"):
        if name in names:
            found[name] = binary(name, value)
        else:
            warn(f"score(tools_history) has a key that score([]) has not: {clipped(repr(name))}")
    return found


def load(source):
    """The script's `score`, from a module of its own."""
    # The interpreter comes out of a snapshot; without this the sequence would differ from build to build.
    random.seed(0)
    # There is none when only the checks are asked for.
    with contextlib.suppress(OSError):
        os.chdir(WORKSPACE)
    linecache.cache[SCRIPT_FILE] = (len(source), None, source.splitlines(keepends=True), SCRIPT_FILE)
    module = types.ModuleType("rule")
    module.__file__ = SCRIPT_FILE
    # Dataclasses look their module up by name.
    sys.modules[module.__name__] = module
    run(lambda: exec(compile(source, SCRIPT_FILE, "exec", dont_inherit=True), module.__dict__))
    score = module.__dict__.get("score")
    if not callable(score):
        raise RuleError("the script defines no function score(tools_history)")
    return score


def initial_scores(score):
    """Name to value of `score([])`, at least one."""
    scores = {}
    for name, value in keyed(run(score, []), "score([])"):
        if not name:
            raise RuleError("score([]) has an empty check name")
        scores.setdefault(name, binary(name, value))
    if not scores:
        raise RuleError("score([]) names no check")
    return scores


def keyed(answer, what):
    """The pairs of an answer, with the names as the reference trims them."""
    if not isinstance(answer, dict):
        raise RuleError(f"{what} must give a dict, not {type(answer).__name__}")
    return [(str(key).strip(), value) for key, value in answer.items()]


def binary(name, value):
    """True for 1 and True, False for 0 and False; anything else is an error."""
    if isinstance(value, int) and value in (0, 1):
        return bool(value)
    raise RuleError(f"check {clipped(repr(name))}: must be 0, 1, True or False, not {clipped(repr(value))}")


def verdict(name, passed):
    if passed is None:
        return Score(name, False, "the script's answer leaves this check out")
    return Score(name, passed, "the script gave 1" if passed else "the script gave 0")


def run(function, *arguments):
    """Calls into the script. Whatever it raises, SystemExit and MemoryError included, is a `RuleError`."""
    try:
        return function(*arguments)
    except BaseException as error:
        message = failure(error)
    raise RuleError(message)


def failure(error):
    """The traceback's last frames and the error, at most `MESSAGE_BYTES` long, the end kept."""
    try:
        last = traceback.extract_tb(error.__traceback__, limit=-FRAMES)
        frames = [frame for frame in last if frame.filename != __file__]
        lines = traceback.format_list(frames) + traceback.format_exception_only(error)
        text = "".join(lines).strip()
    except BaseException:
        # An error whose own text cannot be made.
        text = type(error).__name__
    return tail(f"the script failed: {text}")


def tail(text):
    """The last `MESSAGE_BYTES` bytes, cut between characters, without lone surrogates."""
    data = text.encode("utf-8", "replace")
    if len(data) > MESSAGE_BYTES:
        data = b"..." + data[3 - MESSAGE_BYTES :]
    return data.decode("utf-8", "ignore")


def clipped(text):
    """At most 200 characters, for values inside messages."""
    return text if len(text) <= 200 else text[:200] + "..."

"""Passes when the session wrote a file: `config = { path = "notes/plan.md", contains = "movers" }`. With `contains`, the
file must hold that text when the session is graded. Knows nothing of WIT."""

import json

CHECK = "written"


class ConfigError(Exception):
    """The configuration is wrong; the text says how."""


def parse(config):
    """The path and the text from the configuration's JSON. An unknown key is an error: a typing error must not pass."""
    table = json.loads(config)
    if not isinstance(table, dict):
        raise ConfigError("config: a table is expected")
    for key in table:
        if key not in ("path", "contains"):
            raise ConfigError(f"config.{key}: unknown key; known are path and contains")
    path, contains = table.get("path"), table.get("contains", "")
    if not isinstance(path, str) or not isinstance(contains, str):
        raise ConfigError("config: path and contains are texts, and path is needed")
    return path, contains


def list_checks(config):
    """(name, description) of each check."""
    path, _ = parse(config)
    return [(CHECK, f"{path} was written")]


def grade(config, written, read):
    """(name, whether it passes, why) of each check.

    `written` has the turn in which each path was written last; `read` gives a file's text or None.
    """
    path, contains = parse(config)
    passed, reason = judge(path, contains, written, read)
    return [(CHECK, passed, reason)]


def judge(path, contains, written, read):
    if path not in written:
        return False, f"{path} was not written"
    text = read(path)
    if text is None:
        return False, f"{path} cannot be read"
    if contains not in text:
        return False, f"{path} does not hold the text {contains!r}"
    return True, f"{path} was written in turn {written[path]}"

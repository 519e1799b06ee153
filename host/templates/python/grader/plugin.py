"""The component: WIT values to those of `grader` and back. The rules are in `grader`, where plain Python tests them."""

from componentize_py_types import Err
from wit_world import exports
from wit_world.exports.grading import Check, Verdict
from wit_world.imports import workspace
from wit_world.imports.evidence import ChangeKind

import grader


class Grading(exports.Grading):
    """The exported interface. The host makes a fresh instance for each call."""

    def list_checks(self, config):
        checks = answer(lambda: grader.list_checks(config))
        return [Check(id=name, description=description) for name, description in checks]

    def grade(self, config, evidence):
        written = {change.path: change.turn for change in evidence.changes if change.kind != ChangeKind.DELETED}
        verdicts = answer(lambda: grader.grade(config, written, read))
        return [Verdict(check=name, pass_=passed, reason=reason) for name, passed, reason in verdicts]


def answer(work):
    """Makes a wrong configuration the interface's error."""
    try:
        return work()
    except grader.ConfigError as error:
        raise Err(str(error)) from None


def read(path):
    """A file of the workspace as text; None when it cannot be read."""
    try:
        return workspace.read(path).decode("utf-8", "replace")
    except Err:
        return None

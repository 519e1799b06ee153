"""The grader `python` as a component of world `pibench:plugin/grader`: turns WIT values into `rule_script`'s and back.

It holds no rules of its own. Everything that a script may import is loaded by `snapshot` when the component is made,
because the finished component has no files.
"""

import contextlib
import sys

import rule_script
import snapshot
from componentize_py_types import Err
from wit_world import exports
from wit_world.exports.grading import Check, Verdict
from wit_world.imports import log
from wit_world.imports.evidence import CallStatus
from wit_world.imports.types import Level

snapshot.load_libraries()


class Grading(exports.Grading):
    """The exported interface."""

    def list_checks(self, config):
        with answering():
            names = rule_script.check_names(rule_script.parse_config(config))
            return [Check(id=name, description="") for name in names]

    def grade(self, config, evidence):
        with answering():
            calls = [plain(call) for call in evidence.calls]
            scores = rule_script.grade(rule_script.parse_config(config), calls, evidence.turn, warn)
            return [Verdict(check=score.check, pass_=score.passed, reason=score.reason) for score in scores]


@contextlib.contextmanager
def answering():
    """Makes errors the interface's, and hands over what the script printed."""
    try:
        yield
    except rule_script.RuleError as error:
        raise Err(str(error)) from None
    except BaseException as error:
        # What a script leaves behind can fail later, in the answer's own methods for instance.
        raise Err(rule_script.failure(error)) from None
    finally:
        with contextlib.suppress(Exception):
            sys.stdout.flush()
            sys.stderr.flush()


def plain(call):
    return rule_script.Call(
        turn=call.turn,
        tool=call.tool,
        arguments=call.arguments,
        ok=call.status == CallStatus.OK,
        result=call.result,
    )


def warn(line):
    log.write(Level.WARN, line)

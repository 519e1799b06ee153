"""Python as a component of world `pibench:plugin/python-runtime`: turns WIT values into those of `rule_script` and
`program`, and back.

It holds no rules of its own. Everything that a script may import is loaded by `snapshot` when the component is made,
because the finished component has no files of its own.
"""

import contextlib
import os
import sys

import program
import rule_script
import snapshot
from componentize_py_types import Err
from wit_world import exports
from wit_world.exports.grading import Check, Verdict
from wit_world.imports import log
from wit_world.imports.evidence import CallStatus
from wit_world.imports.types import Level, Source_Code, Source_Module, Source_Script

snapshot.load_libraries(os.path.join(os.path.dirname(__file__), "zones"))
program.keep_mains(snapshot.code_of)


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


class Interpreter(exports.Interpreter):
    """The exported interface."""

    def run(self, asked):
        match asked.source:
            case Source_Code(value=code):
                code, name, module = code, "<string>", None
            case Source_Script(value=(name, code)):
                module = None
            case Source_Module(value=module):
                code, name = None, None
        return program.run(code, name, module, asked.arguments, asked.working_directory, dict(asked.environment))


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
        refused=call.status == CallStatus.TOOL_ERROR and call.code != 0,
        result=call.result,
    )


def warn(line):
    log.write(Level.WARN, line)

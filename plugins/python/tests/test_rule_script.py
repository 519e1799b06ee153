"""Native tests of `rule_script`: `python3 -m unittest discover -s plugins/python/tests`."""

import json
import pathlib
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))

import rule_script
from rule_script import Call, RuleError

NOTE = "simple_note__create_note"

COUNTING = """
def score(tools_history):
    seen = [item["tool_name"] for item in tools_history]
    return {"called": int("mcp_appworld_simple_note__create_note" in seen), "read": "read_file" in seen}
"""


def config(script=COUNTING, **rest):
    return rule_script.parse_config(json.dumps({"script": script, **rest}))


def call(tool=NOTE, turn=1, ok=True, arguments=None, result='{"note_id": 7}', refused=False):
    return Call(turn=turn, tool=tool, arguments=json.dumps(arguments or {}), ok=ok, result=result, refused=refused)


def no_warning(line):
    raise AssertionError(line)


def grades(script, calls=(), turn=1, warn=no_warning, **rest):
    scores = rule_script.grade(config(script, **rest), list(calls), turn, warn)
    return {score.check: score.passed for score in scores}


class Configuration(unittest.TestCase):
    def rejects(self, text, part):
        with self.assertRaisesRegex(RuleError, part):
            rule_script.parse_config(text)

    def test_the_default_protocol_is_the_papers(self):
        self.assertEqual(config().protocol, "paper")

    def test_unknown_keys_are_named(self):
        self.rejects('{"script": "x", "scripts": 1}', "config.scripts: unknown key")

    def test_a_script_is_needed(self):
        self.rejects("{}", "config.script")
        self.rejects('{"script": " "}', "config.script")

    def test_a_protocol_is_one_of_two(self):
        self.rejects('{"script": "x", "protocol": "both"}', "config.protocol")

    def test_tools_are_names(self):
        self.rejects('{"script": "x", "tools": "read_file"}', "config.tools")
        self.rejects('{"script": "x", "tools": [1]}', "config.tools")

    def test_a_config_is_a_table(self):
        self.rejects("[]", "must be a table")


class History(unittest.TestCase):
    def history(self, calls, turn=1, **rest):
        return rule_script.tools_history(config(**rest), calls, turn)

    def test_app_tools_have_the_prefix_and_a_response(self):
        self.assertEqual(
            self.history([call(arguments={"title": "A"})]),
            [
                {
                    "tool_name": "mcp_appworld_simple_note__create_note",
                    "call": {"title": "A"},
                    "result": {"response": {"note_id": 7}},
                }
            ],
        )

    def test_built_in_tools_are_bare(self):
        items = self.history([call("read_file", arguments={"path": "a"}, result="plain text")])
        self.assertEqual(items, [{"tool_name": "read_file", "call": {"path": "a"}, "result": "plain text"}])

    def test_a_built_in_result_that_is_json_is_parsed(self):
        self.assertEqual(self.history([call("read_file", result="[1]")])[0]["result"], [1])

    def test_paper_has_every_turn_in_order_and_no_failed_call(self):
        calls = [call(turn=1, result="1"), call(turn=1, ok=False, result="no"), call(turn=2, result="2"), call(turn=2, result="3")]
        shown = [item["result"]["response"] for item in self.history(calls, turn=2)]
        self.assertEqual(shown, [1, 2, 3])

    def test_pi_bench_has_the_turns_last_call_of_each_tool_where_its_first_stood(self):
        calls = [call(turn=1, result="0"), call(turn=2, result="1"), call("read_file", 2, result="x"), call(turn=2, result="2")]
        items = self.history(calls, turn=2, protocol="pi-bench")
        self.assertEqual([item["tool_name"] for item in items], ["mcp_appworld_" + NOTE, "read_file"])
        self.assertEqual(items[0]["result"], {"response": 2})

    def test_pi_bench_shows_a_refusal_as_a_message(self):
        items = self.history([call(ok=False, refused=True, result="no such note")], protocol="pi-bench")
        self.assertEqual(items[0]["result"], {"response": {"message": "no such note"}})

    def test_pi_bench_shows_what_no_tool_answered_as_text(self):
        for tool in (NOTE, "read_file"):
            items = self.history([call(tool, ok=False, result="`title` is missing")], protocol="pi-bench")
            self.assertEqual(items[0]["result"], "Error: `title` is missing")

    def test_a_call_is_always_a_dict(self):
        broken = Call(turn=1, tool=NOTE, arguments='"{\\"title\\": "', ok=False, result="no JSON")
        self.assertEqual(self.history([broken], protocol="pi-bench")[0]["call"], {})

    def test_integers_of_any_size_are_kept(self):
        item = self.history([call(arguments={"id": 2**70}, result=json.dumps({"id": -(2**65)}))])[0]
        self.assertEqual((item["call"]["id"], item["result"]["response"]["id"]), (2**70, -(2**65)))

    def test_a_text_of_an_imported_run_is_not_wrapped(self):
        self.assertEqual(self.history([call(result="Error: timed out")])[0]["result"], "Error: timed out")

    def test_pi_bench_shows_no_call_to_a_task_that_leaves_the_prefix_out(self):
        self.assertEqual(self.history([call()], protocol="pi-bench", tools=[NOTE]), [])

    def test_pi_bench_shows_the_selected_tools_only(self):
        calls = [call(), call("read_file", result="x")]
        items = self.history(calls, protocol="pi-bench", tools=["mcp_appworld_" + NOTE])
        self.assertEqual([item["tool_name"] for item in items], ["mcp_appworld_" + NOTE])

    def test_paper_shows_all_tools(self):
        calls = [call(), call("read_file", result="x")]
        self.assertEqual(len(self.history(calls, tools=[NOTE])), 2)


class Checks(unittest.TestCase):
    def rejects(self, script, part):
        with self.assertRaisesRegex(RuleError, part):
            rule_script.check_names(config(script))

    def test_the_empty_history_names_the_checks_in_order(self):
        self.assertEqual(rule_script.check_names(config()), ["called", "read"])

    def test_names_are_trimmed(self):
        self.assertEqual(rule_script.check_names(config("def score(h): return {' a ': 0, 'a': 1, 3: 0}")), ["a", "3"])

    def test_a_script_without_score_is_an_error(self):
        self.rejects("x = 1", "defines no function score")
        self.rejects("score = 1", "defines no function score")

    def test_no_check_is_an_error(self):
        self.rejects("def score(h): return {}", "names no check")
        self.rejects("def score(h): return {' ': 0}", "empty check name")

    def test_an_answer_that_is_no_dict_is_an_error(self):
        self.rejects("def score(h): return [1]", "must give a dict, not list")

    def test_a_syntax_error_names_the_line(self):
        self.rejects("def score(h):\n    return {", "(?s)line 2.*SyntaxError")


class Grades(unittest.TestCase):
    def test_what_the_script_gives_is_the_verdict(self):
        self.assertEqual(grades(COUNTING, [call()]), {"called": True, "read": False})

    def test_a_check_that_is_left_out_fails(self):
        self.assertEqual(grades("def score(h): return {'b': 1} if h else {'a': 1, 'b': 0}", [call()]), {"a": False, "b": True})

    def test_an_unknown_check_is_a_warning(self):
        lines = []
        script = "def score(h): return {'a': 1, 'z': 0.5} if h else {'a': 0}"
        self.assertEqual(grades(script, [call()], warn=lines.append), {"a": True})
        self.assertEqual(len(lines), 1)
        self.assertIn("'z'", lines[0])

    def test_other_values_are_errors(self):
        for value in ("0.5", "1.0", "'1'", "None", "2", "-1"):
            with self.assertRaisesRegex(RuleError, "check 'a': must be 0, 1, True or False, not "):
                grades(f"def score(h): return {{'a': {value}}} if h else {{'a': 0}}", [call()])

    def test_whatever_a_script_raises_is_an_error(self):
        for statement, name in (
            ("raise ValueError('bad note')", "ValueError: bad note"),
            ("raise SystemExit(3)", "SystemExit: 3"),
            ("import sys; sys.exit()", "SystemExit"),
            ("raise KeyboardInterrupt", "KeyboardInterrupt"),
            ("raise MemoryError", "MemoryError"),
            ("return score(h)", "RecursionError"),
            ("return h[5]", "IndexError"),
            ("import no_such_module", "ModuleNotFoundError"),
        ):
            with self.assertRaisesRegex(RuleError, name):
                grades(f"def score(h):\n    if not h: return {{'a': 0}}\n    {statement}", [call()])

    def test_under_pi_bench_a_script_that_fails_on_the_calls_scores_zero(self):
        for body in ("raise KeyError('x')", "return 7", "return {'a': 0.5, 'b': 1}"):
            script = f"def score(h):\n    if not h: return {{'a': 0, 'b': 0}}\n    {body}"
            self.assertEqual(grades(script, [call()], protocol="pi-bench"), {"a": False, "b": False})
        with self.assertRaises(RuleError):
            grades("def score(h): raise ValueError", [call()], protocol="pi-bench")

    def test_the_traceback_shows_the_scripts_lines_and_not_ours(self):
        with self.assertRaises(RuleError) as caught:
            grades("def score(h):\n    return {'a': inner(h)}\ndef inner(h):\n    return 1 // len(h)\n")
        text = str(caught.exception)
        self.assertIn('File "script.py", line 4, in inner', text)
        self.assertIn("return 1 // len(h)", text)
        self.assertNotIn("rule_script", text)

    def test_a_message_is_bounded_and_keeps_its_end(self):
        with self.assertRaises(RuleError) as caught:
            grades("def score(h): raise ValueError('\u00e9' * 9000 + 'the end \\ud800')")
        data = str(caught.exception).encode("utf-8")
        self.assertLessEqual(len(data), 4096)
        self.assertTrue(data.endswith(b"the end ?"))

    def test_an_error_without_a_text_is_named(self):
        script = "class Odd(Exception):\n    def __str__(self): raise SystemExit\ndef score(h): raise Odd"
        with self.assertRaisesRegex(RuleError, "Odd"):
            grades(script)

    def test_scripts_have_a_module_of_their_own(self):
        script = """
from __future__ import annotations
from dataclasses import dataclass
@dataclass
class Seen:
    names: list[str]
def score(h):
    return {"own": "RuleError" not in globals(), "named": __name__ == "rule", "annotated": bool(Seen([]).names == [])}
"""
        self.assertEqual(grades(script), {"own": True, "named": True, "annotated": True})

    def test_randomness_is_the_same_each_time(self):
        script = "import random\ndef score(h): return {str(random.random()): 0}"
        self.assertEqual(rule_script.check_names(config(script)), rule_script.check_names(config(script)))


if __name__ == "__main__":
    unittest.main()

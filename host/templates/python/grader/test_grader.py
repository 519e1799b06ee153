"""Native tests: `python3 -B -m unittest tests/test_grader.py`, from the project's folder."""

import json
import unittest

from src import grader

CONFIG = json.dumps({"path": "notes/plan.md", "contains": "movers"})


def passed(written, files):
    return grader.grade(CONFIG, written, files.get)[0][1]


class Verdicts(unittest.TestCase):
    def test_a_written_file_with_the_text_passes(self):
        self.assertTrue(passed({"notes/plan.md": 1}, {"notes/plan.md": "The movers come at 8."}))

    def test_another_file_or_another_text_does_not(self):
        self.assertFalse(passed({"plan.md": 1}, {"plan.md": "The movers come at 8."}))
        self.assertFalse(passed({"notes/plan.md": 1}, {"notes/plan.md": "Nobody comes."}))
        self.assertFalse(passed({"notes/plan.md": 1}, {}))

    def test_a_typing_error_in_the_configuration_is_named(self):
        with self.assertRaisesRegex(grader.ConfigError, "contain"):
            grader.list_checks(json.dumps({"path": "a", "contain": "b"}))

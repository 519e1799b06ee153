"""Native tests: `python3 -B -m unittest tests/test_app.py`, from the project's folder."""

import unittest

from src import app


class Counters(unittest.TestCase):
    def setUp(self):
        self.app = app.opened({"people": [], "records": {"counters": [{"name": "boxes", "count": 2}]}})

    def refused(self, status, tool, arguments):
        before = self.app.shown()
        with self.assertRaises(app.Refusal) as refusal:
            self.app.call(tool, arguments)
        self.assertEqual(refusal.exception.status, status)
        self.assertEqual(self.app.shown(), before)

    def test_amounts_add_up_from_the_record_on(self):
        self.app.call("add", {"name": "boxes", "amount": 3})
        self.assertEqual(self.app.call("show", {"name": "boxes"}), {"count": 5})

    def test_wrong_arguments_are_refused_and_change_nothing(self):
        self.refused(422, "add", {"name": "boxes", "amount": 0})
        self.refused(422, "add", {"name": "boxes"})
        self.refused(422, "add", {"name": "boxes", "amount": "3"})
        self.refused(409, "show", {"name": "crates"})
        self.refused(404, "subtract", {})

    def test_unknown_records_are_refused(self):
        with self.assertRaises(app.Refusal):
            self.app.with_records({"counter": []})

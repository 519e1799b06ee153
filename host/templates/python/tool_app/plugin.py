"""The component: WIT values to those of `app` and back. What the tools do is in `app`, where plain Python tests it."""

import json

from componentize_py_types import Err
from wit_world import exports
from wit_world.exports.tools import Tool, ToolError

import app

# The one state of the instance.
state = app.App()


class Tools(exports.Tools):
    """The exported interface."""

    def list_tools(self):
        return [
            Tool(name=name, description=tool.description, schema=json.dumps(tool.schema))
            for name, tool in app.TOOLS.items()
        ]

    def open(self, seed):
        replace(lambda: app.opened(json.loads(seed)))

    def add(self, records):
        replace(lambda: state.with_records(json.loads(records)))

    def call(self, name, arguments):
        try:
            return json.dumps(state.call(name, json.loads(arguments)))
        except app.Refusal as refusal:
            raise Err(ToolError(status=refusal.status, message=str(refusal))) from None

    def snapshot(self):
        return json.dumps(state.counts, sort_keys=True).encode()

    def restore(self, snapshot):
        replace(lambda: app.App(json.loads(snapshot)))

    def state(self):
        return json.dumps(state.shown())


def replace(make):
    """Puts another state in place; a refusal leaves the old one."""
    global state
    try:
        state = make()
    except app.Refusal as refusal:
        raise Err(str(refusal)) from None

"""An agent as a Python function, played by pibench-host: the same user, apps and graders as any other agent has.

    from pibench_host import serve

    def agent(message, tools):
        return f"I have {len(tools)} tools, and no idea."

    serve(agent, "--user", "openai/MODEL", "--judge", "openai/MODEL")

The function is called with each message of the user, and what it returns is its answer. `tools` are the user's apps, the files and
the shell, by name; each can be called with its arguments by name and gives a text:

    tools["read_file"](path="USER.md")

`message.instructions` is a text at a session's first message, when a new conversation begins, and None otherwise. A function
that is asynchronous is awaited. Only the standard library is used.
"""

import asyncio
import inspect
import json
import shutil
import subprocess
import sysconfig
import threading
from pathlib import Path

__all__ = ["Message", "Tool", "ToolError", "serve"]

# The tool of the host's by which messages come and answers go.
_CONVERSE = "converse"


class ToolError(Exception):
    """A tool did not do what it was asked; the text says why."""


class Message(str):
    """What the user says."""

    instructions = None


class Tool:
    """A tool of the session: call it with its arguments by name."""

    def __init__(self, server, listed):
        self._server = server
        self.name = listed["name"]
        self.description = listed.get("description", "")
        # The arguments' JSON Schema.
        self.schema = listed["inputSchema"]

    def __call__(self, **arguments):
        return self._server.call(self.name, arguments)

    def attempt(self, **arguments):
        """As a call, but what went wrong is a text too: for a framework that shows either to a model."""
        try:
            return self(**arguments)
        except ToolError as error:
            return f"Error: {error}"

    def __repr__(self):
        return f"<Tool {self.name}>"


class _Server:
    """The host's end of a Model Context Protocol connection, over its standard input and output."""

    def __init__(self, command):
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, encoding="utf-8")
        self.asked = 0
        # A framework may call tools by several threads.
        self.lock = threading.Lock()
        greeting = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "pibench_host", "version": "1"}}
        self.ask("initialize", greeting)
        self.tell({"method": "notifications/initialized"})

    def tell(self, message):
        self.process.stdin.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
        self.process.stdin.flush()

    def ask(self, method, params):
        with self.lock:
            self.asked += 1
            self.tell({"id": self.asked, "method": method, "params": params})
            for line in self.process.stdout:
                answer = json.loads(line)
                if answer.get("id") == self.asked:
                    if "error" in answer:
                        raise RuntimeError(f"{method}: {answer['error']}")
                    return answer["result"]
        raise RuntimeError(f"pibench-host ended with exit code {self.process.wait()}; what it said stands on standard error")

    def call(self, name, arguments):
        called = self.ask("tools/call", {"name": name, "arguments": arguments})
        text = "".join(block.get("text", "") for block in called["content"])
        if called.get("isError"):
            raise ToolError(text)
        return text

    def tools(self):
        listed = (Tool(self, tool) for tool in self.ask("tools/list", {})["tools"])
        return {tool.name: tool for tool in listed if tool.name != _CONVERSE}

    def end(self):
        """Waits for the scores; the exit code."""
        self.process.stdin.close()
        self.process.stdout.read()
        return self.process.wait()


def _program():
    """The program of this package, or that of the path."""
    own = Path(sysconfig.get_path("scripts")) / "pibench-host"
    return str(own) if own.exists() else shutil.which("pibench-host") or "pibench-host"


def serve(agent, *options, program=None):
    """Plays a suite with `agent`, a function of a message and the tools; `options` are those of `pibench-host serve`. The exit
    code of the program, which prints the scores on standard error."""
    server = _Server([program or _program(), "serve", "--stdio", *options])
    loop = asyncio.new_event_loop()
    try:
        told = json.loads(server.call(_CONVERSE, {}))
        while not told["over"]:
            message = Message(told["message"])
            message.instructions = told.get("instructions")
            answer = agent(message, server.tools())
            if inspect.isawaitable(answer):
                answer = loop.run_until_complete(answer)
            told = json.loads(server.call(_CONVERSE, {"answer": str(answer)}))
    finally:
        loop.close()
        code = server.end()
    return code

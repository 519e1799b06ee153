"""An agent on the protocol's official Python SDK and the official client of the Model Context Protocol: it plays the reference
workflow of each session. It takes its MCP server as a process, which is the host's bridge.

usage: sdk_agent.py SESSIONS.json
"""

import asyncio
import json
import re
import sys
from contextlib import AsyncExitStack

from acp import Agent, InitializeResponse, NewSessionResponse, PromptResponse, run_agent, update_agent_message_text
from mcp import ClientSession, StdioServerParameters
from mcp.client.stdio import stdio_client

TOLD = json.load(open(sys.argv[1]))
PLACEHOLDER = re.compile(r"\{\{(.*?)\}\}")


def find(path, saved):
    name, *parts = path.strip().split(".")
    value = saved[name]
    for part in parts:
        value = value[int(part)] if isinstance(value, list) else value[part]
    return value


def fill(value, saved):
    """As the built-in policy fills in what earlier calls gave."""
    if isinstance(value, list):
        return [fill(item, saved) for item in value]
    if isinstance(value, dict):
        return {key: fill(item, saved) for key, item in value.items()}
    if not isinstance(value, str):
        return value
    whole = PLACEHOLDER.fullmatch(value)
    if whole:
        return find(whole[1], saved)

    def text(match):
        found = find(match[1], saved)
        return found if isinstance(found, str) else json.dumps(found)

    return PLACEHOLDER.sub(text, value)


def opens(session, message):
    """A request that is a signal stands escaped in JSON, where line ends are not."""
    line = session["request"].strip().split("\n")[0]
    return line in message or json.dumps(line, ensure_ascii=False)[1:-1] in message


class Reference(Agent):
    def __init__(self):
        self.turns = 0
        self.stack = AsyncExitStack()

    def on_connect(self, conn):
        self.client = conn

    async def initialize(self, protocol_version, client_capabilities=None, client_info=None, **_):
        return InitializeResponse(protocol_version=1)

    async def new_session(self, cwd, additional_directories=None, mcp_servers=None, **_):
        server = mcp_servers[0]
        env = {one.name: one.value for one in server.env}
        parameters = StdioServerParameters(command=server.command, args=server.args, env=env)
        self.opened, self.over = asyncio.Event(), asyncio.Event()
        # The client wants to be closed by the task that opened it.
        self.task = asyncio.create_task(self.hold(parameters))
        await self.opened.wait()
        return NewSessionResponse(session_id="one")

    async def hold(self, parameters):
        async with stdio_client(parameters) as (read, write), ClientSession(read, write) as self.tools:
            await self.tools.initialize()
            self.opened.set()
            await self.over.wait()

    async def prompt(self, session_id, prompt, **_):
        message = "\n\n".join(block.text for block in prompt)
        self.turns += 1
        text = await self.work(message) if self.turns == 1 else ""
        await self.client.session_update(session_id, update_agent_message_text(text or "Done."))
        return PromptResponse(stop_reason="end_turn")

    async def work(self, message):
        workflow = next((one.get("reference") or [] for one in TOLD if opens(one, message)), [])
        saved, said = {}, []
        for step in workflow:
            if "tool" in step:
                called = await self.tools.call_tool(step["tool"], fill(step.get("arguments", {}), saved))
                text = called.content[0].text if called.content else ""
                if "save" in step:
                    saved[step["save"]] = json.loads(text)
            else:
                said.append(step["say"].strip())
        return "\n\n".join(part for part in said if part)

    async def cancel(self, session_id, **_):
        pass


asyncio.run(run_agent(Reference()))

"""An agent from outside, on the official client of the Model Context Protocol: it plays the reference workflow of every
session that it is asked to, through `pibench-host serve`, and compares the scores with those of the built-in policy.

usage: serve_client.py PROGRAM SUITE.toml http|stdio
"""

import asyncio
import json
import subprocess
import sys
import tempfile
from pathlib import Path

from mcp import ClientSession, StdioServerParameters
from mcp.client.stdio import stdio_client
from mcp.client.streamable_http import create_mcp_http_client, streamable_http_client

from workflow import fill, opens, scores, sessions

# The suite's own patterns, as the built-in policy is judged.
JUDGED = ["--user", "lexical", "--judge", "lexical"]

async def call(client, name, arguments):
    called = await client.call_tool(name, arguments)
    text = called.content[0].text if called.content else ""
    if called.is_error:
        raise SystemExit(f"{name} failed: {text}")
    return text


async def work(client, workflow):
    """Makes the calls of a workflow; its answer."""
    saved, said = {}, []
    for step in workflow:
        if "tool" in step:
            text = await call(client, step["tool"], fill(step.get("arguments", {}), saved))
            if "save" in step:
                saved[step["save"]] = json.loads(text)
        else:
            said.append(step["say"].strip())
    return "\n\n".join(part for part in said if part) or "Done."


async def play(client, suite):
    await client.initialize()
    offered = {tool.name for tool in (await client.list_tools()).tools}
    assert "converse" in offered and "spawn" not in offered, offered
    left = list(sessions(suite))
    message = json.loads(await call(client, "converse", {}))
    while not message["over"]:
        answer = "Done."
        if "instructions" in message and left and opens(left[0], message["message"]):
            answer = await work(client, left.pop(0).get("reference", []))
        message = json.loads(await call(client, "converse", {"answer": answer}))
    assert not left, f"{len(left)} sessions were not played"


async def over_http(program, suite, out):
    command = [program, "serve", suite, *JUDGED, "--json", "--out", out]
    server = await asyncio.create_subprocess_exec(*command, stdout=asyncio.subprocess.PIPE, limit=1 << 26)
    place = json.loads(await server.stdout.readline())
    headers = {"Authorization": f"Bearer {place['token']}"}
    async with (
        create_mcp_http_client(headers=headers) as http,
        streamable_http_client(place["url"], http_client=http, max_sse_event_size=None) as (read, write),
        ClientSession(read, write) as client,
    ):
        await play(client, suite)
    assert await server.wait() == 0, server.returncode


async def over_stdio(program, suite, out):
    server = StdioServerParameters(command=program, args=["serve", suite, *JUDGED, "--stdio", "--out", out])
    async with stdio_client(server) as (read, write):
        async with ClientSession(read, write) as client:
            await play(client, suite)
            # The program writes the scores after the last answer.
            for _ in range(100):
                if Path(out, "results.json").exists():
                    break
                await asyncio.sleep(0.1)


def main():
    program, suite, transport = sys.argv[1:]
    with tempfile.TemporaryDirectory() as folder:
        command = [program, "run", suite, "--json", "--out", f"{folder}/reference"]
        done = subprocess.run(command, check=True, capture_output=True, text=True)
        expected = scores(json.loads(done.stdout))
        out = f"{folder}/served"
        asyncio.run({"http": over_http, "stdio": over_stdio}[transport](program, suite, out))
        found = scores(json.loads(Path(out, "results.json").read_text()))
        if found != expected:
            raise SystemExit(f"scores differ over {transport}:\n{found}\n{expected}")
        print(f"{len(found)} sessions over {transport}: the same scores as the built-in policy")


main()

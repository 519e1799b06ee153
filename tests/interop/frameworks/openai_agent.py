"""An agent on the OpenAI Agents SDK. usage: openai_agent.py OPTIONS OF pibench-host serve"""

import json
import sys

from agents import Agent, FunctionTool, Runner, SQLiteSession
from pibench_host import serve


def function(tool):
    async def invoke(_, arguments):
        return tool.attempt(**json.loads(arguments or "{}"))

    return FunctionTool(tool.name, tool.description, tool.schema, invoke, strict_json_schema=False)


async def agent(message, tools):
    if message.instructions:  # A session begins, and with it a new conversation.
        functions = [function(tool) for tool in tools.values()]
        agent.worker = Agent("assistant", instructions=message.instructions, tools=functions, model="gpt-5.4")
        agent.conversation = SQLiteSession("it")
    done = await Runner.run(agent.worker, message, session=agent.conversation, max_turns=100)
    return done.final_output


sys.exit(serve(agent, *sys.argv[1:]))

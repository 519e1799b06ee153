"""An agent on LangGraph, by a model of OpenAI's. usage: langgraph_agent.py OPTIONS OF pibench-host serve"""

import sys

from langchain.agents import create_agent
from langchain_core.tools import StructuredTool
from langgraph.checkpoint.memory import InMemorySaver
from pibench_host import serve


def function(tool):
    return StructuredTool(name=tool.name, description=tool.description, args_schema=tool.schema, func=tool.attempt)


def agent(message, tools):
    if message.instructions:  # A session begins, and with it a new conversation.
        functions = [function(tool) for tool in tools.values()]
        agent.graph = create_agent("openai:gpt-5.4", functions, system_prompt=message.instructions, checkpointer=InMemorySaver())
    state = agent.graph.invoke({"messages": [("user", message)]}, {"configurable": {"thread_id": "it"}, "recursion_limit": 200})
    return state["messages"][-1].text


sys.exit(serve(agent, *sys.argv[1:]))

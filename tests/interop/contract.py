"""What the official SDKs say of requests and answers, made strict: a key that their types do not have is an error, at any
depth. To that come rules that no type can say, from the providers' documentation, and a list by provider of fields that
no SDK knows.
"""

import json
import os
import re
from typing import Any, Literal

# The SDKs put off the building of their models' validators, and then there is no schema to read.
os.environ["DEFER_PYDANTIC_BUILD"] = "false"

from anthropic.types import Message
from anthropic.types.message_create_params import MessageCreateParamsNonStreaming
from openai.types.chat import ChatCompletion
from openai.types.chat.completion_create_params import CompletionCreateParamsNonStreaming
from openai.types.responses import Response
from openai.types.responses.response_create_params import ResponseCreateParamsNonStreaming
from pydantic import TypeAdapter, ValidationError
from pydantic_core import SchemaValidator
from typing_extensions import TypedDict

TOOL_NAME = re.compile(r"[a-zA-Z0-9_-]{1,64}")
# OpenAI takes no more, and no longer descriptions.
MOST_TOOLS = 128
LONGEST_DESCRIPTION = 1024
# Anthropic takes no more.
MOST_CACHE_MARKS = 4


class Switch(TypedDict):
    type: Literal["enabled", "disabled"]


class Enabled(TypedDict):
    enabled: bool


class Google(TypedDict):
    google: dict[str, Any]


# Fields of providers that the SDKs' types do not know, by the place where they stand: in a request's `body`, in an
# assistant's `message` and in a `call` of it. Where they are documented stands beside the presets.
EXTENSIONS = {
    # Taken by the version 2023-06-01, which the host names; the SDK is made for the next, which takes none.
    "anthropic": {"body": {"temperature": float}},
    "openrouter": {"body": {"reasoning": Enabled}, "message": {"reasoning_details": list[dict]}},
    "deepseek": {"message": {"reasoning_content": str}},
    "gemini": {"call": {"extra_content": Google}},
    "moonshot": {"body": {"thinking": Switch}, "message": {"reasoning_content": str}},
    "zai": {"body": {"thinking": Switch}, "message": {"reasoning_content": str}},
    "dashscope": {"body": {"enable_thinking": bool}},
    "minimax": {"body": {"reasoning_split": Literal[True]}, "message": {"reasoning_details": list[dict]}},
    "ark": {"body": {"thinking": Switch}},
}
# The same of answers, beside those of requests.
ANSWERED = {
    "openrouter": {"message": {"reasoning": str}},
    "dashscope": {"message": {"reasoning_content": str}},
    "ark": {"message": {"reasoning_content": str}},
}


def strict(kind):
    """A validator of an SDK's type that looks at the members of an `Iterable` at once, and not when they are taken."""

    def eager(schema):
        if isinstance(schema, list | tuple):
            return type(schema)(eager(part) for part in schema)
        if not isinstance(schema, dict):
            return schema
        schema = {key: eager(part) for key, part in schema.items() if key != "metadata"}
        if schema.get("type") == "generator":
            schema["type"] = "list"
        return schema

    return SchemaValidator(eager(TypeAdapter(kind).core_schema))


FORMS = {"/chat/completions": "chat", "/responses": "responses", "/messages": "messages"}
REQUESTS = {
    "chat": strict(CompletionCreateParamsNonStreaming),
    "responses": strict(ResponseCreateParamsNonStreaming),
    "messages": strict(MessageCreateParamsNonStreaming),
}
ANSWERS = {"chat": strict(ChatCompletion), "responses": strict(Response), "messages": strict(Message)}


def problems_of_request(form, provider, text):
    """What is wrong with a request's body, one sentence each."""
    allowed = EXTENSIONS.get(provider, {})
    body, problems = without(allowed, form, text)
    whole = json.loads(text)
    return problems + of_type(REQUESTS[form], body) + RULES[form](whole) + tool_rules(form, whole)


def problems_of_answer(form, provider, text):
    """What is wrong with an answer's body, one sentence each."""
    asked, answered = EXTENSIONS.get(provider, {}), ANSWERED.get(provider, {})
    allowed = {place: {**asked.get(place, {}), **answered.get(place, {})} for place in ("message", "call")}
    body, problems = without(allowed, form, text)
    return problems + of_type(ANSWERS[form], body)


def form_of(path):
    return next(form for end, form in FORMS.items() if path.endswith(end))


def of_type(validator, body):
    try:
        validator.validate_json(json.dumps(body), strict=True, extra="forbid")
    except ValidationError as error:
        return readable(error.errors(include_url=False, include_context=False))
    return []


def readable(errors):
    """An alternative that calls itself by another `type` or `role` was never meant."""
    others = {error["loc"][:-1] for error in errors if error["type"] == "literal_error" and error["loc"][-1] in ("type", "role")}
    meant = [error for error in errors if not any(error["loc"][: len(other)] == other for other in others)]
    return [f"{place(error['loc'])}: {error['msg']}" for error in meant or errors]


def place(loc):
    """Without the long names of lists of alternatives."""
    return ".".join(str(part) for part in loc if "[" not in str(part))


def without(allowed, form, text):
    """The body without its provider's own fields, and what is wrong with those."""
    body, problems = json.loads(text), []

    def take(place, table):
        for key, kind in allowed.get(place, {}).items():
            if key in table:
                problems.extend(f"{place}.{key}: {problem}" for problem in of_type(strict(kind), table.pop(key)))

    take("body", body)
    if form == "chat":
        for message in body.get("messages", []) + [choice["message"] for choice in body.get("choices", [])]:
            if message["role"] == "assistant":
                take("message", message)
                for call in message.get("tool_calls") or []:
                    take("call", call)
    return body, problems


def tool_rules(form, body):
    tools = [tool["function"] if form == "chat" else tool for tool in body.get("tools", [])]
    names = [tool["name"] for tool in tools]
    problems = [f"the tool name `{name}` is refused" for name in names if not TOOL_NAME.fullmatch(name)]
    if len(names) > MOST_TOOLS:
        problems.append(f"{len(names)} tools, and OpenAI takes {MOST_TOOLS}")
    if len(set(names)) < len(names):
        problems.append("two tools have one name")
    for tool in tools:
        description = tool.get("description", "")
        if len(description) > LONGEST_DESCRIPTION:
            problems.append(f"the description of `{tool['name']}` has {len(description)} characters")
        if tool.get("parameters", tool.get("input_schema", {})).get("type") != "object":
            problems.append(f"the parameters of `{tool['name']}` are no object")
    return problems


def chat_rules(body):
    """Every call is answered right after the message that made it."""
    problems, open_calls = [], []
    for message in body["messages"]:
        if message["role"] == "tool":
            if message["tool_call_id"] not in open_calls:
                problems.append(f"a result of no call: {message['tool_call_id']}")
            else:
                open_calls.remove(message["tool_call_id"])
            continue
        if open_calls:
            problems.append(f"calls without a result: {open_calls}")
        open_calls = [call["id"] for call in message.get("tool_calls") or []]
    return problems + ([f"calls without a result at the end: {open_calls}"] if open_calls else [])


def responses_rules(body):
    """Every call has one result, after it."""
    problems, open_calls = [], []
    for item in body["input"]:
        if item.get("type") == "function_call":
            open_calls.append(item["call_id"])
        elif item.get("type") == "function_call_output":
            if item["call_id"] not in open_calls:
                problems.append(f"a result of no call: {item['call_id']}")
            else:
                open_calls.remove(item["call_id"])
    return problems + ([f"calls without a result: {open_calls}"] if open_calls else [])


def messages_rules(body):
    """User and assistant in turn, results first in the message after their calls, no blank text, few marks for the cache;
    thinking goes with neither a temperature nor a forced call."""
    problems, expected, marks = [], [], 0
    for index, message in enumerate(body["messages"]):
        content = message["content"] if isinstance(message["content"], list) else [{"type": "text", "text": message["content"]}]
        if message["role"] != ("user", "assistant")[index % 2]:
            problems.append(f"message {index} is of the {message['role']} out of turn")
        results = [block["tool_use_id"] for block in content if block["type"] == "tool_result"]
        if sorted(results) != sorted(expected):
            problems.append(f"message {index} has results of {results}, and {expected} are wanted")
        if any(block["type"] != "tool_result" for block in content[: len(results)]):
            problems.append(f"message {index} has something before its results")
        expected = [block["id"] for block in content if block["type"] == "tool_use"]
        if any(block["type"] == "text" and not block["text"].strip() for block in content):
            problems.append(f"message {index} has a blank text")
        marks += sum("cache_control" in block for block in content)
    if marks > MOST_CACHE_MARKS:
        problems.append(f"{marks} marks for the cache, and {MOST_CACHE_MARKS} are taken")
    if body.get("thinking", {}).get("type", "disabled") != "disabled":
        if "temperature" in body:
            problems.append("a temperature with thinking")
        if body.get("tool_choice", {}).get("type", "auto") not in ("auto", "none"):
            problems.append("a forced call with thinking")
    return problems


RULES = {"chat": chat_rules, "responses": responses_rules, "messages": messages_rules}


def prove():
    """Bodies with one mistake each must be refused, and their sound twins taken: a check that cannot fail says nothing."""
    call = {"id": "c1", "type": "function", "function": {"name": "look", "arguments": "{}"}}
    picture = {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}}
    tool = {"type": "function", "function": {"name": "look", "description": "d", "parameters": {"type": "object"}}}
    user = {"role": "user", "content": [{"type": "text", "text": "look"}, picture]}
    assistant = {"role": "assistant", "content": None, "tool_calls": [call]}
    result = {"role": "tool", "tool_call_id": "c1", "content": "seen"}
    chat = {"model": "m", "messages": [user, assistant, result], "tools": [tool]}
    refuse("chat", "openai", chat, [
        ([], "reasoning_split", True), (["messages", 0], "ally", 1), (["messages", 0, "content", 1], "ally", 1),
        (["messages", 0, "content", 1, "image_url"], "ally", 1), (["messages", 1], "reasoning_content", "hm"),
        (["messages", 1, "tool_calls", 0], "extra_content", {"google": {}}), (["messages", 2], "name", "look"),
        (["tools", 0, "function"], "cached", True), (["tools", 0, "function"], "description", "d" * 1025),
        (["tools", 0, "function"], "parameters", {"type": "string"}), ([], "temperature", "0"), ([], "tool_choice", "never"),
        (["messages", 2], "tool_call_id", "c2"), (["tools", 0, "function"], "name", "look at"),
    ])
    refuse("chat", "moonshot", {**chat, "thinking": {"type": "enabled"}}, [
        (["thinking"], "type", "adaptive"), (["thinking"], "budget", 1), (["messages", 1], "reasoning_content", 1),
        ([], "enable_thinking", True),
    ])
    reasoning = {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "x"}
    calling = {"type": "function_call", "call_id": "c1", "name": "look", "arguments": "{}"}
    output = {"type": "function_call_output", "call_id": "c1", "output": "seen"}
    seen = {"role": "user", "content": [{"type": "input_image", "detail": "auto", "image_url": "data:image/png;base64,AAAA"}]}
    tool = {"type": "function", "name": "look", "description": "d", "parameters": {"type": "object"}, "strict": False}
    responses = {"model": "m", "input": [seen, reasoning, calling, output], "tools": [tool], "store": False}
    refuse("responses", "openai", responses, [
        ([], "ally", 1), (["input", 0], "ally", 1), (["input", 0, "content", 0], "url", "x"), (["input", 1], "ally", 1),
        (["input", 1], "id", None), (["input", 2], "arguments", {}), (["input", 3], "call_id", "c2"), (["tools", 0], "ally", 1),
    ])
    user = {"role": "user", "content": [{"type": "text", "text": "look", "cache_control": {"type": "ephemeral"}}]}
    thought = {"type": "thinking", "thinking": "hm", "signature": "x"}
    assistant = {"role": "assistant", "content": [thought, {"type": "tool_use", "id": "c1", "name": "look", "input": {}}]}
    result = {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "c1", "content": "seen"}]}
    tool = {"name": "look", "description": "d", "input_schema": {"type": "object"}}
    adaptive = {"type": "adaptive"}
    messages = {"model": "m", "max_tokens": 9, "messages": [user, assistant, result], "tools": [tool], "thinking": adaptive}
    refuse("messages", "anthropic", messages, [
        ([], "ally", 1), (["messages", 0], "ally", 1), (["messages", 0, "content", 0], "ally", 1), (["messages", 0, "content", 0], "text", " "),
        (["messages", 1, "content", 0], "signature", None), (["messages", 2, "content", 0], "tool_use_id", "c2"), (["tools", 0], "ally", 1),
        ([], "temperature", 0.0), ([], "tool_choice", {"type": "tool", "name": "look"}), (["thinking"], "ally", 1), (["messages", 1], "role", "user"),
    ])


def refuse(form, provider, body, mistakes):
    """`body` is taken; with any of the mistakes (a place in it, a key, a value) it is not."""
    sound = problems_of_request(form, provider, json.dumps(body))
    assert not sound, f"a sound body of {form} is refused: {sound}"
    for place, key, value in mistakes:
        spoilt = json.loads(json.dumps(body))
        table = spoilt
        for part in place:
            table = table[part]
        table[key] = value
        assert problems_of_request(form, provider, json.dumps(spoilt)), f"{form} to {provider}: {place} {key} = {value} is taken"

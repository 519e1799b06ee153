"""The three wire formats, and what providers add to the first: a request read into one form, and an answer written from
one form. Only what the scripted server looks at or says.
"""

import json
from dataclasses import dataclass, field

# How providers of chat completions show thinking in an answer.
TEXT = ("moonshot", "zai", "dashscope", "ark", "deepseek")
DETAILS = ("openrouter", "minimax")


@dataclass
class Part:
    """A piece of a chat."""

    role: str  # system, user, assistant, result
    text: str = ""
    calls: list = field(default_factory=list)  # ids
    call_id: str = ""
    picture: bool = False


@dataclass
class Asked:
    parts: list
    tools: list  # names
    choice: str  # auto, none, or the tool's name


@dataclass
class Answer:
    """Pieces in the order of the answer: ("thought", text), ("text", text), ("call", id, name, arguments)."""

    pieces: list
    stop: str = "end"  # end, length, filtered, refused: in the model's own words

    def of(self, kind):
        return [piece[1:] for piece in self.pieces if piece[0] == kind]

    def text(self):
        return "".join(text for (text,) in self.of("text"))

    def thought(self):
        return "".join(text for (text,) in self.of("thought"))


def read(form, body):
    return {"chat": read_chat, "responses": read_responses, "messages": read_messages}[form](body)


def write(form, provider, number, answer):
    """The body of an answer; `number` makes its ids, counts and signatures its own."""
    return {"chat": write_chat, "responses": write_responses, "messages": write_messages}[form](provider, number, answer)


def usage(form, provider, number):
    """What the host should count for an answer of this number."""
    extra = form == "messages" or form == "responses" or provider == "openrouter"
    return {
        "calls": 1,
        "input_tokens": 1000 + number,
        "cached_tokens": 300,
        "output_tokens": 50,
        "reasoning_tokens": 20,
        "cache_write_tokens": 200 if extra else 0,
    }


def content_text(content):
    if isinstance(content, str):
        return content
    return "".join(part.get("text", "") for part in content or [])


def has_picture(content):
    return isinstance(content, list) and any(part["type"] in ("image_url", "input_image", "image") for part in content)


def read_chat(body):
    parts = []
    for message in body["messages"]:
        calls = [call["id"] for call in message.get("tool_calls") or []]
        role = "result" if message["role"] == "tool" else message["role"]
        content = message.get("content")
        parts.append(Part(role, content_text(content), calls, message.get("tool_call_id", ""), has_picture(content)))
    choice = body.get("tool_choice", "auto")
    choice = choice if isinstance(choice, str) else choice["function"]["name"]
    return Asked(parts, [tool["function"]["name"] for tool in body.get("tools", [])], choice)


def read_responses(body):
    parts = [Part("system", body["instructions"])] if "instructions" in body else []
    for item in body["input"]:
        match item.get("type", "message"):
            case "message":
                parts.append(Part(item["role"], content_text(item["content"]), picture=has_picture(item["content"])))
            case "function_call" if parts[-1].role == "assistant":
                parts[-1].calls.append(item["call_id"])
            case "function_call":
                parts.append(Part("assistant", calls=[item["call_id"]]))
            case "function_call_output":
                parts.append(Part("result", item["output"], call_id=item["call_id"]))
    choice = body.get("tool_choice", "auto")
    return Asked(parts, [tool["name"] for tool in body.get("tools", [])], choice if isinstance(choice, str) else choice["name"])


def read_messages(body):
    parts = [Part("system", content_text(body["system"]))] if "system" in body else []
    for message in body["messages"]:
        content = message["content"]
        content = [{"type": "text", "text": content}] if isinstance(content, str) else content
        results = [block for block in content if block["type"] == "tool_result"]
        parts.extend(Part("result", content_text(block["content"]), call_id=block["tool_use_id"]) for block in results)
        rest = [block for block in content if block["type"] != "tool_result"]
        if rest:
            calls = [block["id"] for block in rest if block["type"] == "tool_use"]
            parts.append(Part(message["role"], content_text(rest), calls, picture=has_picture(rest)))
    choice = body.get("tool_choice", {"type": "auto"})
    return Asked(parts, [tool["name"] for tool in body.get("tools", [])], choice.get("name", choice["type"]))


def write_chat(provider, number, answer):
    soft = answer.stop == "refused"
    message = {"role": "assistant", "content": None if soft else answer.text() or None, "refusal": answer.text() if soft else None}
    calls = [
        {"id": call_id, "type": "function", "function": {"name": name, "arguments": json.dumps(arguments)}}
        for call_id, name, arguments in answer.of("call")
    ]
    if calls:
        message["tool_calls"] = calls
    if answer.thought():
        if provider in TEXT:
            message["reasoning_content"] = answer.thought()
        if provider in DETAILS:
            message["reasoning_details"] = [{"type": "reasoning.text", "text": answer.thought(), "signature": f"sealed {number}", "index": 0}]
        if provider == "openrouter":
            message["reasoning"] = answer.thought()
        if provider == "gemini" and calls:
            calls[0]["extra_content"] = {"google": {"thought_signature": f"sealed {number}"}}
    finish = {"end": "tool_calls" if calls else "stop", "refused": "stop", "length": "length", "filtered": "content_filter"}[answer.stop]
    counts = usage("chat", provider, number)
    prompt = {"cached_tokens": counts["cached_tokens"], "audio_tokens": 0}
    if counts["cache_write_tokens"]:
        prompt["cache_write_tokens"] = counts["cache_write_tokens"]
    # Gemini leaves its thinking out of the one count and not of the other.
    apart = counts["reasoning_tokens"] if provider == "gemini" else 0
    return {
        "id": f"chatcmpl-{number}", "object": "chat.completion", "created": 1767225600, "model": "m", "service_tier": "default",
        "choices": [{"index": 0, "message": message, "finish_reason": finish, "logprobs": None}],
        "usage": {
            "prompt_tokens": counts["input_tokens"],
            "completion_tokens": counts["output_tokens"] - apart,
            "total_tokens": counts["input_tokens"] + counts["output_tokens"],
            "prompt_tokens_details": prompt,
            "completion_tokens_details": {"reasoning_tokens": counts["reasoning_tokens"]},
        },
    }


def write_responses(_provider, number, answer):
    output = []
    status = "incomplete" if answer.stop in ("length", "filtered") else "completed"
    final = not answer.of("call")
    for place, piece in enumerate(answer.pieces):
        match piece:
            case ("thought", text):
                summary = [{"type": "summary_text", "text": text}]
                output.append({"type": "reasoning", "id": f"rs_{number}_{place}", "summary": summary, "encrypted_content": f"sealed {number}.{place}"})
            case ("text", text):
                said = {"type": "output_text", "text": text, "annotations": [], "logprobs": []}
                said = {"type": "refusal", "refusal": text} if answer.stop == "refused" else said
                phase = "final_answer" if final else "commentary"
                output.append({"type": "message", "id": f"msg_{number}_{place}", "role": "assistant", "status": status, "content": [said], "phase": phase})
            case ("call", call_id, name, arguments):
                output.append(
                    {"type": "function_call", "id": f"fc_{number}_{place}", "call_id": call_id, "name": name, "arguments": json.dumps(arguments), "status": "completed"}
                )
    why = {"length": "max_output_tokens", "filtered": "content_filter"}.get(answer.stop)
    counts = usage("responses", _provider, number)
    return {
        "id": f"resp_{number}", "object": "response", "created_at": 1767225600.0, "model": "m", "status": status, "error": None,
        "incomplete_details": {"reason": why} if why else None, "instructions": None, "metadata": {}, "output": output,
        "parallel_tool_calls": True, "temperature": 1.0, "tool_choice": "auto", "tools": [], "top_p": 1.0,
        "usage": {
            "input_tokens": counts["input_tokens"],
            "input_tokens_details": {"cached_tokens": counts["cached_tokens"], "cache_write_tokens": counts["cache_write_tokens"]},
            "output_tokens": counts["output_tokens"],
            "output_tokens_details": {"reasoning_tokens": counts["reasoning_tokens"]},
            "total_tokens": counts["input_tokens"] + counts["output_tokens"],
        },
    }


def write_messages(_provider, number, answer):
    content = []
    for place, piece in enumerate(answer.pieces):
        match piece:
            # Of several thoughts in one answer, the later ones are kept from the reader.
            case ("thought", _) if any(block["type"] == "thinking" for block in content):
                content.append({"type": "redacted_thinking", "data": f"sealed {number}.{place}"})
            case ("thought", text):
                content.append({"type": "thinking", "thinking": text, "signature": f"sealed {number}.{place}"})
            case ("text", text):
                content.append({"type": "text", "text": text, "citations": None})
            case ("call", call_id, name, arguments):
                content.append({"type": "tool_use", "id": call_id, "name": name, "input": arguments, "caller": {"type": "direct"}})
    stop = {"end": "tool_use" if answer.of("call") else "end_turn", "refused": "end_turn", "length": "max_tokens", "filtered": "refusal"}
    counts = usage("messages", _provider, number)
    cached, written = counts["cached_tokens"], counts["cache_write_tokens"]
    return {
        "id": f"msg_{number}", "type": "message", "role": "assistant", "model": "m", "content": content,
        "stop_reason": stop[answer.stop], "stop_sequence": None,
        "usage": {
            "input_tokens": counts["input_tokens"] - cached - written,
            "cache_read_input_tokens": cached,
            "cache_creation_input_tokens": written,
            "cache_creation": {"ephemeral_5m_input_tokens": written, "ephemeral_1h_input_tokens": 0},
            "output_tokens": counts["output_tokens"],
            "output_tokens_details": {"thinking_tokens": counts["reasoning_tokens"]},
            "service_tier": "standard",
        },
    }

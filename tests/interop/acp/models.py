"""The models of the products: servers that speak the Gemini API, Anthropic's Messages and OpenAI's Responses. Each first calls one of
the user's tools, then (but for Gemini's) runs a command by the product's own tool, and then says words."""

import gzip
import http.server
import json
import threading

SAID = "Said by the model."
PRINTED = "printed-by-a-command"
COMMAND = f"echo {PRINTED} | tee own.md"


def serve(model):
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), model)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return f"http://127.0.0.1:{server.server_port}"


class Model(http.server.BaseHTTPRequestHandler):
    """What they have in common: a request read, an answer as JSON or as a stream of events."""

    protocol_version = "HTTP/1.1"

    def body(self):
        if "chunked" in self.headers.get("Transfer-Encoding", ""):
            text = b""
            while size := int(self.rfile.readline(), 16):
                text += self.rfile.read(size)
                self.rfile.readline()
            self.rfile.readline()
        else:
            text = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        if self.headers.get("Content-Encoding") == "gzip":
            text = gzip.decompress(text)
        return json.loads(text or b"{}")

    def answer(self, value):
        self.send(json.dumps(value), "application/json")

    def stream(self, events):
        """Events with or without names."""
        lines = (f"event: {name}\ndata: {json.dumps(data)}" if name else f"data: {json.dumps(data)}" for name, data in events)
        self.send("".join(line + "\n\n" for line in lines), "text/event-stream")

    def send(self, text, kind):
        self.send_response(200)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(text.encode())))
        self.end_headers()
        self.wfile.write(text.encode())

    def do_GET(self):
        self.answer({"object": "list", "data": []})

    def do_HEAD(self):
        self.send("", "application/json")

    def log_message(self, *_):
        pass


class Gemini(Model):
    asked = []

    def do_POST(self):
        body = self.body()
        tools = [one["name"] for tool in body.get("tools", []) for one in tool.get("functionDeclarations", [])]
        Gemini.asked.append((self.path, tools))
        ours = [name for name in tools if name.endswith("message") and "pibench" in name or name == "message"]
        answered = any("functionResponse" in part for turn in body.get("contents", []) for part in turn.get("parts", []))
        if "countTokens" in self.path:
            return self.answer({"totalTokens": 10})
        asked = body.get("generationConfig", {})
        if asked.get("responseJsonSchema") or asked.get("responseSchema"):
            # Whose turn it is, and which model is to answer.
            words = {"reasoning": "it is done", "next_speaker": "user", "model_choice": "flash", "complexity_reasoning": "easy", "complexity_score": 1}
            parts = [{"text": json.dumps(words)}]
        elif ours and not answered:
            parts = [{"functionCall": {"name": ours[0], "args": {"content": "Said by a tool."}}}]
        else:
            parts = [{"text": SAID}]
        usage = {"promptTokenCount": 7, "candidatesTokenCount": 3, "totalTokenCount": 10}
        candidate = {"content": {"role": "model", "parts": parts}, "finishReason": "STOP", "index": 0}
        answer = {"candidates": [candidate], "usageMetadata": usage}
        if "stream" in self.path:
            self.stream([(None, answer)])
        else:
            self.answer(answer)


class Claude(Model):
    asked = []

    def do_POST(self):
        body = self.body()
        tools = [tool.get("name", "") for tool in body.get("tools", [])]
        Claude.asked.append((self.path, tools))
        if "count_tokens" in self.path:
            return self.answer({"input_tokens": 10})
        ours = [name for name in tools if name.endswith("message") and "pibench" in name]
        blocks = [block for turn in body.get("messages", []) if isinstance(turn["content"], list) for block in turn["content"]]
        answered = sum(block["type"] == "tool_result" for block in blocks)
        # A request without tools is one of the product's own, such as for a title.
        if ours and answered == 0:
            block = {"type": "tool_use", "id": "toolu_1", "name": ours[0], "input": {"content": "Said by a tool."}}
        elif ours and answered == 1:
            block = {"type": "tool_use", "id": "toolu_2", "name": "Bash", "input": {"command": COMMAND, "description": "Writes a file"}}
        else:
            block = {"type": "text", "text": SAID}
        self.reply(body, block)

    def reply(self, body, block):
        is_call = block["type"] == "tool_use"
        stop = "tool_use" if is_call else "end_turn"
        usage = {"input_tokens": 7, "output_tokens": 3, "cache_read_input_tokens": 0, "cache_creation_input_tokens": 0}
        message = {"id": "msg_1", "type": "message", "role": "assistant", "model": body.get("model", "m"), "content": [],
                   "stop_reason": None, "stop_sequence": None, "usage": usage}
        if not body.get("stream"):
            return self.answer({**message, "content": [block], "stop_reason": stop})
        if is_call:
            start, delta = {**block, "input": {}}, {"type": "input_json_delta", "partial_json": json.dumps(block["input"])}
        else:
            start, delta = {**block, "text": ""}, {"type": "text_delta", "text": block["text"]}
        events = [
            ("message_start", {"message": message}),
            ("content_block_start", {"index": 0, "content_block": start}),
            ("content_block_delta", {"index": 0, "delta": delta}),
            ("content_block_stop", {"index": 0}),
            ("message_delta", {"delta": {"stop_reason": stop, "stop_sequence": None}, "usage": {"output_tokens": 3}}),
            ("message_stop", {}),
        ]
        self.stream([(name, {"type": name, **data}) for name, data in events])


class Codex(Model):
    asked = []

    def do_POST(self):
        body = self.body()
        tools = body.get("tools", [])
        Codex.asked.append((self.path, [tool.get("name") for tool in tools]))
        ours = [(tool["name"], one["name"]) for tool in tools if tool.get("type") == "namespace" and "pibench" in tool["name"]
                for one in tool["tools"] if one["name"] == "message"]
        answered = sum(item.get("type") == "function_call_output" for item in body.get("input", []))
        call = {"type": "function_call", "id": f"fc_{answered}", "call_id": f"call_{answered}", "status": "completed"}
        if ours and answered == 0:
            space, name = ours[0]
            item = {**call, "namespace": space, "name": name, "arguments": json.dumps({"content": "Said by a tool."})}
        elif ours and answered == 1:
            item = {**call, "name": "exec_command", "arguments": json.dumps({"cmd": COMMAND})}
        else:
            text = {"type": "output_text", "text": SAID, "annotations": []}
            item = {"type": "message", "id": "msg_1", "role": "assistant", "status": "completed", "content": [text]}
        self.reply(body, item)

    def reply(self, body, item):
        usage = {"input_tokens": 7, "input_tokens_details": {"cached_tokens": 0}, "output_tokens": 3,
                 "output_tokens_details": {"reasoning_tokens": 0}, "total_tokens": 10}
        begun = {"id": "resp_1", "object": "response", "created_at": 1, "status": "in_progress", "model": body.get("model"), "output": []}
        whole = {**begun, "status": "completed", "output": [item], "usage": usage}
        if not body.get("stream"):
            return self.answer(whole)
        events = [
            ("response.created", {"response": begun}),
            ("response.output_item.added", {"output_index": 0, "item": item}),
            ("response.output_item.done", {"output_index": 0, "item": item}),
            ("response.completed", {"response": whole}),
        ]
        self.stream([(name, {"type": name, "sequence_number": number, **data}) for number, (name, data) in enumerate(events)])

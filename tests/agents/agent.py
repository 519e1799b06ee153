"""An agent that speaks the Agent Client Protocol, for tests: it plays by a script, or misbehaves. Standard library only.

usage: agent.py DEED [FILE.json]

DEED is one of the functions below that take a message. `reference` plays the workflows of FILE.json, a list of sessions as
`session.toml` has them.
"""

import contextlib
import fcntl
import http.client
import json
import mmap
import os
import re
import resource
import select
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import types
import urllib.request

PLACEHOLDER = re.compile(r"\{\{(.*?)\}\}")
DEED = sys.argv[1]
# What the agent says that it can do: with `-stdio` its MCP server is a process.
STDIO = DEED.endswith("-stdio")


class Wire:
    """Lines of JSON-RPC on standard input and output."""

    def __init__(self):
        self.asked = 0
        self.held = []

    def send(self, message):
        sys.stdout.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
        sys.stdout.flush()

    def next(self):
        if self.held:
            return self.held.pop(0)
        line = sys.stdin.readline()
        if not line:
            sys.exit(0)
        return json.loads(line)

    def ask(self, method, params):
        """Asks the client; its answer, whole."""
        self.asked += 1
        number = f"agent-{self.asked}"
        self.send({"id": number, "method": method, "params": params})
        while True:
            message = self.next()
            if message.get("id") == number and "method" not in message:
                return message
            self.held.append(message)

    def update(self, session, what, **fields):
        update = {"sessionUpdate": what, **fields}
        self.send({"method": "session/update", "params": {"sessionId": session, "update": update}})

    def say(self, session, text, kind="agent_message_chunk"):
        self.update(session, kind, content={"type": "text", "text": text})


class Tools:
    """The client's MCP server, by HTTP or as a process."""

    def __init__(self, server):
        self.asked = 0
        self.server = server
        self.process = None
        if "command" in server:
            env = {**os.environ, **{one["name"]: one["value"] for one in server["env"]}}
            command = [server["command"], *server["args"]]
            self.process = subprocess.Popen(command, env=env, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        greeting = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "agent", "version": "1"}}
        self.ask("initialize", greeting)
        self.tell({"method": "notifications/initialized"})
        self.names = {tool["name"] for tool in self.ask("tools/list", {})["tools"]}

    def tell(self, message):
        text = json.dumps({"jsonrpc": "2.0", **message})
        if self.process:
            self.process.stdin.write(text + "\n")
            self.process.stdin.flush()
            return self.process.stdout.readline() if "id" in message else ""
        headers = {one["name"]: one["value"] for one in self.server["headers"]}
        headers |= {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}
        request = urllib.request.Request(self.server["url"], text.encode(), headers)
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        return opener.open(request).read().decode()

    def ask(self, method, params):
        self.asked += 1
        answer = json.loads(self.tell({"id": self.asked, "method": method, "params": params}))
        return answer["result"]

    def call(self, name, arguments):
        called = self.ask("tools/call", {"name": name, "arguments": arguments})
        return called["content"][0]["text"] if called["content"] else ""


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
    """Whether a message is a session's first. A request that is a signal stands escaped in JSON, where line ends are not."""
    line = session["request"].strip().split("\n")[0]
    return line in message or json.dumps(line, ensure_ascii=False)[1:-1] in message


class Session:
    def __init__(self, wire, params):
        self.wire = wire
        self.id = params.get("sessionId") or f"session-{time.time_ns()}"
        self.cwd = params["cwd"]
        self.turns = 0
        self.mode = "of its own"
        self.goes_on = "sessionId" in params
        self.tools = Tools(params["mcpServers"][0]) if DEED.split("-")[0] in USES_TOOLS else None

    def say(self, text):
        self.wire.say(self.id, text)

    def shell(self, command):
        """A command of the agent's own, and its own word of it."""
        done = subprocess.run(command, shell=True, cwd=self.cwd, capture_output=True, text=True)
        call = {"toolCallId": f"own-{time.monotonic()}"}
        self.wire.update(self.id, "tool_call", **call, title=command, kind="execute", rawInput={"command": command})
        text = [{"type": "content", "content": {"type": "text", "text": done.stdout + done.stderr}}]
        self.wire.update(self.id, "tool_call_update", **call, status="completed", content=text)
        return done.stdout + done.stderr


def reference(session, message):
    """Plays the session's workflow in the first turn."""
    told = json.load(open(sys.argv[2]))
    workflow = next((one.get("reference", []) for one in told if opens(one, message)), []) if session.turns == 1 else []
    saved, said = {}, []
    for step in workflow:
        if "tool" in step:
            text = session.tools.call(step["tool"], fill(step.get("arguments", {}), saved))
            if "save" in step:
                saved[step["save"]] = json.loads(text)
        else:
            said.append(step["say"].strip())
    session.say("\n\n".join(part for part in said if part) or "Done.")


def work(session, message):
    """Does a little of everything that an agent can do, in its first turn."""
    if session.turns > 1:
        session.say("Done.")
        return
    wire, cwd = session.wire, session.cwd
    wire.say(session.id, "I think of blue.", "agent_thought_chunk")
    wire.update(session.id, "plan", entries=[{"content": "Write it down", "priority": "high", "status": "pending"}])
    session.say("I begin. ")
    # By itself, in its own directory.
    session.shell("echo by itself > own.md; rm -f /usr/x 2>/dev/null; echo done")
    # By its client.
    path = f"{cwd}/by-client.md"
    wire.ask("fs/write_text_file", {"sessionId": session.id, "path": path, "content": "one\ntwo\nthree\n"})
    read = wire.ask("fs/read_text_file", {"sessionId": session.id, "path": path, "line": 2, "limit": 1})
    assert read["result"]["content"] == "two\n", read
    outside = wire.ask("fs/read_text_file", {"sessionId": session.id, "path": "/etc/passwd"})
    assert "outside of the workspace" in outside["error"]["data"], outside
    begun = wire.ask("terminal/create", {"sessionId": session.id, "command": "wc", "args": ["-l", "by-client.md"], "cwd": cwd})
    terminal = {"sessionId": session.id, "terminalId": begun["result"]["terminalId"]}
    assert wire.ask("terminal/wait_for_exit", terminal)["result"]["exitCode"] == 0
    output = wire.ask("terminal/output", terminal)["result"]["output"]
    assert output.startswith("3 "), output
    wire.ask("terminal/release", terminal)
    # With permission.
    options = [
        {"optionId": "yes", "name": "Allow", "kind": "allow_once"},
        {"optionId": "no", "name": "Reject", "kind": "reject_once"},
    ]
    for place, expected in [(f"{cwd}/own.md", "yes"), ("/etc/passwd", "no"), (f"{cwd}/../manifest.json", "no")]:
        call = {"toolCallId": place, "title": f"Edit {place}", "kind": "edit", "locations": [{"path": place}]}
        chosen = wire.ask("session/request_permission", {"sessionId": session.id, "toolCall": call, "options": options})
        assert chosen["result"]["outcome"] == {"outcome": "selected", "optionId": expected}, chosen
    # With the user's tools, and its own word of that call beside it.
    wire.update(session.id, "tool_call", toolCallId="m", title="mcp__pibench__ask_user", kind="other")
    answer = session.tools.call("ask_user", {"question": "Which colour?"})
    wire.update(session.id, "tool_call_update", toolCallId="m", status="completed")
    session.told = {"usage": {"totalTokens": 34, "inputTokens": 20, "outputTokens": 10, "cachedReadTokens": 4}}
    wire.update(session.id, "usage_update", used=10, size=100, cost={"amount": 0.25, "currency": "USD"})
    session.say(f"It is blue: {answer}")


def files(session, message):
    """Tells which tools it is offered."""
    session.say(" ".join(sorted(session.tools.names)))


def search(session, message):
    """Looks for what is hidden from it, on the disk, in its environment, among processes and on the network, with the keys that it
    finds there."""
    told = json.load(open(sys.argv[2]))
    wanted, places, programs = told["wanted"], told["places"], told["programs"]
    found, doors = [], []
    def look(where, text):
        found.extend(f"{what} in {where}" for what, secret in wanted.items() if secret.encode() in text)
    look("the environment", "\0".join(f"{name}={value}" for name, value in os.environ.items()).encode())
    for folder, folders, names in (step for place in places for step in os.walk(place)):
        folders[:] = [name for name in folders if os.path.join(folder, name) not in ("/proc", "/sys", "/dev")]
        if folder.startswith("/usr"):
            folders[:] = []
        for name in names:
            try:
                with open(os.path.join(folder, name), "rb") as file:
                    text = file.read(4 << 20)
                look(os.path.join(folder, name), text)
                if name == "serve.json":
                    doors.append(json.loads(text))
                if name.startswith(("pibench", "bridge-")) and text[:4] == b"\x7fELF":
                    programs.append(os.path.join(folder, name))
            except OSError:
                pass
    processes = [name for name in os.listdir("/proc") if name.isdigit()]
    for process in processes:
        for name in ("environ", "cmdline"):
            try:
                look(f"/proc/{process}/{name}", open(f"/proc/{process}/{name}", "rb").read())
            except OSError:
                pass
    own = session.tools.server.get("url", "")
    servers = 0
    for line in open("/proc/net/tcp").readlines()[1:]:
        place, state = line.split()[1], line.split()[3]
        address, port = place.split(":")
        if state != "0A" or address != "0100007F":
            continue
        servers += 1
        for path, body in [("/", None), ("/mcp", b'{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{}}')]:
            if f":{int(port, 16)}/" in own and path == "/mcp":
                continue
            try:
                request = urllib.request.Request(f"http://127.0.0.1:{int(port, 16)}{path}", body)
                opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
                look(f"port {int(port, 16)}", opener.open(request, timeout=2).read(1 << 20))
            except (OSError, http.client.HTTPException):
                # Who listens there may speak anything.
                pass
    for door in doors:
        key = {"name": "Authorization", "value": f"Bearer {door['token']}"}
        look(door["url"], Tools({"url": door["url"], "headers": [key]}).call("converse", {}).encode())
    with open(os.path.join(session.cwd, "found.json"), "w") as file:
        json.dump({"found": found, "processes": len(processes), "servers": servers, "root": sorted(os.listdir("/")),
                   "home": os.environ.get("HOME"), "environment": sorted(os.environ),
                   "programs": {program: intents(program) for program in programs}}, file)
    session.say("I have looked.")


def intents(program):
    """How many hidden intents a program gives away which carries a suite; None where it cannot be started."""
    with tempfile.TemporaryDirectory() as place:
        environment = {"PIBENCH_CACHE": os.path.join(place, "cache"), "PATH": "/usr/bin:/bin"}
        try:
            subprocess.run([program, "suite", "export", os.path.join(place, "suite")], env=environment, capture_output=True)
        except OSError:
            return None
        files = (os.path.join(folder, name) for folder, _, names in os.walk(place) for name in names)
        return sum(open(file, "rb").read().count(b"[[intents]]") for file in files)


def dies(session, message):
    sys.stderr.write("a bug of mine\n")
    os._exit(7)


def hangs(session, message):
    time.sleep(3600)


def floods(session, message):
    os.write(1, b"x" * 100_000_000)


def chatters(session, message):
    for _ in range(100_000):
        session.say("y" * 1000)


def nests(session, message):
    sys.stdout.write("[" * 100_000 + "\n")
    sys.stdout.flush()
    time.sleep(60)


def babbles(session, message):
    """Writes JSON that is none of the protocol's."""
    for _ in range(1000):
        sys.stdout.write('{"hello": [1, 2]}\n')
    sys.stdout.flush()
    time.sleep(60)


def refuses(session, message):
    return "refusal"


def errs(session, message):
    raise RuntimeError("the model of mine is away")


def slow(session, message):
    """Takes its time before it greets, and none for its turns."""
    session.say("Done.")


def mumbles(session, message):
    """Ends its turn by an answer that is none of the protocol's; by one that says nothing for `mumbles-nothing`, and to a request that
    nobody made for `mumbles-apart`."""
    how = DEED.partition("-")[2]
    if how:
        session.wire.send({"id": session.asked} if how == "nothing" else {"id": 4711, "result": {"stopReason": "end_turn"}})
        time.sleep(3600)
    return "whatever"


def leaks(session, message):
    """Quotes what it was given where it tells of an error: with its end, in an answer for `leaks-answer`, and before there is a
    session for `leaks-early`."""
    said = f"401 invalid key {os.environ['OWN_KEY']} of {os.environ['OWN_SET']}"
    if DEED == "leaks-answer":
        raise RuntimeError(said)
    sys.stderr.write(said + "\n")
    os._exit(1)


def confides(session, message):
    """Tells what it was given in each way that it has: in pieces, thoughts, a plan, calls and what they gave, and the request for a
    permission. For `confides-file` it has a file written that holds it."""
    wire, key = session.wire, os.environ["OWN_KEY"]
    if DEED == "confides-file":
        path = f"{session.cwd}/own.md"
        wire.ask("fs/write_text_file", {"sessionId": session.id, "path": path, "content": key})
        read = wire.ask("fs/read_text_file", {"sessionId": session.id, "path": path})
        session.say("Done." if read["result"]["content"] == key else "It is another.")
        return
    session.say(f"It is {key[:9]}")
    session.say(f"{key[9:]}. ")
    wire.say(session.id, f"I think of {key}.", "agent_thought_chunk")
    wire.update(session.id, "plan", entries=[{"content": f"Use {key}", "priority": "high", "status": "pending"}])
    session.shell("env")
    given = {"variables": {key: [key]}, "as text": json.dumps({"key": key})}
    wire.update(session.id, "tool_call", toolCallId="own", title=f"Send {key}", kind="other", rawInput=given)
    # The key is where a long result is cut.
    text = [{"type": "content", "content": {"type": "text", "text": "x" * 15_990 + key + "x" * 100}}]
    wire.update(session.id, "tool_call_update", toolCallId="own", status="failed", content=text)
    call = {"toolCallId": "asks", "title": f"Tell {key}", "kind": "edit", "locations": [{"path": f"/etc/{key}"}]}
    options = [{"optionId": "no", "name": f"Keep {key}", "kind": "reject_once"}]
    wire.ask("session/request_permission", {"sessionId": session.id, "toolCall": call, "options": options})
    session.say(f"It was {key}.")


def late(session, message):
    """Goes on after its turn, when it hears at the port that is its second argument that it is over: with calls, words and a process.
    What came of the calls it says there."""
    subprocess.Popen(["sleep", "987654"], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    session.say("Done.")
    door = socket.create_connection(("127.0.0.1", int(sys.argv[2])))
    door.sendall(b"late\n")

    def after():
        # Else its session is over, too.
        if door in select.select([door, sys.stdin], [], [])[0]:
            door.recv(4)
            called = session.tools.call("ask_user", {"question": "Too late?"})
            session.say("late words")
            # Lines are read in their order: with the answer to this one, the words were heard.
            read = session.wire.ask("fs/read_text_file", {"sessionId": session.id, "path": f"{session.cwd}/in.md"})
            door.sendall(json.dumps([called, read["error"]["data"]]).encode())
        door.close()

    session.after = after


def tells(session, message):
    """Tells of its work as Claude Code, Codex and Gemini CLI do: tokens turn by turn, the output of a command beside its call, and asks
    about that call by its id alone."""
    wire, mode = session.wire, DEED.partition("-")[2]
    call = {"toolCallId": f"c{session.turns}"}
    command = f"cat {session.cwd}/in.md"
    wire.update(session.id, "tool_call", **call, title=command, kind="execute", status="in_progress",
                content=[{"type": "terminal", "terminalId": call["toolCallId"]}], rawInput={"command": command, "cwd": session.cwd})
    options = [{"optionId": "yes", "name": "Allow", "kind": "allow_once"}]
    wire.ask("session/request_permission", {"sessionId": session.id, "toolCall": {**call, "kind": "execute"}, "options": options})
    for part in ("one\n", "two\n"):
        wire.update(session.id, "tool_call_update", **call, _meta={"terminal_output_delta": {"data": part}})
    ended = {"terminal_exit": {"exit_code": 7, "signal": None}}
    wire.update(session.id, "tool_call_update", **call, status="failed", _meta=ended)
    wire.update(session.id, "usage_update", used=10, size=100, cost={"amount": 0.25 * session.turns, "currency": "USD"})
    session.say(f"I work in the mode {session.mode}.")
    if mode == "quota":
        session.told = {"_meta": {"quota": {"token_count": {"input_tokens": 11 * session.turns, "output_tokens": 3}}}}
    else:
        tokens = {"inputTokens": 11 * session.turns, "outputTokens": 3, "cachedReadTokens": 5, "totalTokens": 19}
        session.told = {"usage": tokens}


def waits(session, message):
    """Works until it is told to stop, and says at the port that is its second argument that it was."""
    while True:
        if session.wire.next().get("method") == "session/cancel":
            with socket.create_connection(("127.0.0.1", int(sys.argv[2]))) as door:
                door.sendall(b"cancelled")
            return "cancelled"


def reports(session, message):
    """Writes a report of one word, which its own name has: `reports-done`, `reports-nothing`."""
    with open(os.path.join(session.cwd, "report.md"), "w") as file:
        file.write(DEED.partition("-")[2])
    session.say("Written.")


def adds(session, message):
    """Adds a line to a file in each turn."""
    with open(os.path.join(session.cwd, "lines.md"), "a") as file:
        file.write("a line\n")
    session.say("Done.")


def locks(session, message):
    """Leaves files and a folder that nobody may read, a link, and a folder of a name that is not for it."""
    for path in ("locked.md", "sub/locked.md", ".pibench-incoming/notes"):
        path = os.path.join(session.cwd, path)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        if os.path.exists(path):
            os.chmod(path, 0o600)
        with open(path, "w") as file:
            file.write("kept\n")
        os.chmod(path, 0)
    os.chmod(os.path.join(session.cwd, "sub"), 0)
    if session.turns == 1:
        with contextlib.suppress(FileExistsError):
            os.symlink("/usr", os.path.join(session.cwd, "link"))
    session.say("Done.")


def leases(session, message):
    """Leaves a file under a lease, so that nobody opens it without waiting, and lets it go in the next turn."""
    if session.turns == 1:
        signal.signal(signal.SIGIO, signal.SIG_IGN)
        with open(os.path.join(session.cwd, "free.md"), "w") as file:
            file.write("kept\n")
        session.file = open(os.path.join(session.cwd, "leased.md"), "w")
        session.file.write("kept\n")
        session.file.flush()
        fcntl.fcntl(session.file, fcntl.F_SETLEASE, fcntl.F_WRLCK)
    elif session.turns == 2:
        session.file.close()
    session.say("Done.")


def churns(session, message):
    """Leaves something at work that makes files, folders and links and takes them away, as long as its process lives."""

    def churn(path):
        while True:
            open(path, "w").close()
            os.unlink(path)
            os.makedirs(f"{path}.d/in")
            open(f"{path}.d/file", "w").close()
            os.unlink(f"{path}.d/file")
            os.rmdir(f"{path}.d/in")
            os.rmdir(f"{path}.d")
            os.symlink("report.md", f"{path}.l")
            os.unlink(f"{path}.l")

    if session.turns == 1:
        with open(os.path.join(session.cwd, "report.md"), "w") as file:
            file.write("kept\n")
        for number in range(40):
            threading.Thread(target=churn, args=(os.path.join(session.cwd, f"c{number}"),), daemon=True).start()
    session.say("Done.")


def past(session, message):
    """Says what it was told of the conversation before."""
    session.say("I was told: " + message.split("\n")[0][:40])


def loads(session, message):
    """Keeps what it is told of a session in its home, where a later process finds it again. Says how much it knows of this one and how
    many sessions its process has had."""
    with open(kept(session.id), "a") as file:
        file.write(json.dumps(message) + "\n")
    known = len(open(kept(session.id)).readlines())
    word = "the conversation so far" if "What was said and done in it so far:" in message else "nothing"
    session.goes_on = session.goes_on or "What was said and done in it so far:" in message
    if known == 2 and len(SESSIONS) == 1 and not session.goes_on:
        # Until it is killed.
        time.sleep(3600)
    session.say(f"I know {known} messages, this is session {len(SESSIONS)} of mine, and I was told {word}.")


def kept(id):
    return os.path.expanduser(f"~/{id}.jsonl")


def fills(session, message):
    """Takes what room there is outside of the workspace, and says what it got."""
    taken = {}
    for place in ("~", "/tmp", "/dev/shm", "/dev", "/", "/agent/..", "/workspace/..", "/usr", "/proc/sys/kernel"):
        try:
            with open(os.path.expanduser(f"{place}/filling"), "wb") as file:
                file.write(b"x" * 4096)
                file.flush()
                taken[place] = "room"
                os.posix_fallocate(file.fileno(), 0, 1 << 30)
                taken[place] = "all"
        except OSError as error:
            taken[place] = taken.get(place, error.strerror)
    with open(os.path.join(session.cwd, "taken.json"), "w") as file:
        json.dump(taken, file)
    session.say("I have tried.")


def swamps(session, message):
    """Writes files into its workspace until somebody stops it."""
    number = 0
    while True:
        folder = os.path.join(session.cwd, f"swamp/{number // 100}")
        os.makedirs(folder, exist_ok=True)
        open(f"{folder}/{number}", "w").close()
        number += 1


def swampsonce(session, message):
    """The same, and ends its turn before anybody looks."""
    for number in range(10_001):
        open(os.path.join(session.cwd, f"{number}.txt"), "w").close()
    session.say("Done.")


def digs(session, message):
    """Makes folders within each other, deeper than a path is long."""
    os.chdir(session.cwd)
    for _ in range(9_000):
        with contextlib.suppress(FileExistsError):
            os.mkdir("d")
        os.chdir("d")
    session.say("Done.")


def hoards(session, message):
    """Deletes files that it holds open, and says what it got: three of 400 MiB, or one for `hoards-one`; by their pages alone for
    `hoards-mapped`, in a socket for `hoards-sent`, and after its first turn for `hoards-late`. For `hoards-open` many processes
    open as many files as they may."""
    how = DEED.partition("-")[2]
    if how == "late" and session.turns > 1:
        time.sleep(3600)

    def hoard():
        ends, got = socket.socketpair(), []
        while how == "open":
            if len(HOARD) == 30 or os.fork() == 0:
                with contextlib.suppress(OSError):
                    while True:
                        os.dup(0)
                time.sleep(3600)
            HOARD.append(None)
        for number in range({"one": 1, "sent": 40}.get(how, 3)):
            path = os.path.join(session.cwd, f"{number}.bin")
            file = open(path, "w+b")
            os.unlink(path)
            os.posix_fallocate(file.fileno(), 0, 4096 if how == "sent" else 400 << 20)
            if how == "mapped":
                HOARD.append(mmap.mmap(file.fileno(), 0))
                file.close()
            elif how == "sent":
                socket.send_fds(ends[0], [b"x"], [file.fileno()])
                file.close()
            else:
                HOARD.append(file)
        HOARD.append(ends)
        if how == "one":
            try:
                os.posix_fallocate(HOARD[0].fileno(), 0, 600 << 20)
                got.append("a file of 600 MiB")
            except OSError as error:
                got.append(error.strerror)
            if resource.getrlimit(resource.RLIMIT_NOFILE)[1] > 4096:
                got.append("files without end")
        else:
            time.sleep(3600)
        return got

    if how == "late":
        threading.Thread(target=hoard, daemon=True).start()
        session.say("Done.")
    else:
        session.say(f"I got: {hoard()}")


HOARD = []


def meets(session, message):
    """Waits at the port that is its second argument until it is let go, and stays connected as long as its process lives."""
    if session.turns == 1:
        session.door = socket.create_connection(("127.0.0.1", int(sys.argv[2])))
        namespace = os.readlink("/proc/self/ns/pid")
        session.door.sendall(f"{namespace}\n".encode())
        session.door.recv(1)
    session.say("Done.")


SESSIONS = {}


def main():
    if DEED == "search-alone":
        # A command that no client started.
        tools = types.SimpleNamespace(server={})
        return search(types.SimpleNamespace(tools=tools, cwd=os.getcwd(), say=print), "")
    wire, session = Wire(), None
    while True:
        message = wire.next()
        method, params = message.get("method"), message.get("params")
        if method == "initialize":
            if DEED == "unborn":
                sys.stderr.write("no such file: config\n")
                sys.exit(3)
            if DEED == "leaks-early":
                leaks(None, "")
            if DEED == "slow":
                time.sleep(6)
            version = 2 if DEED == "newer" else 1
            capabilities = {"mcpCapabilities": {"http": not STDIO}, "loadSession": DEED == "loads"}
            methods = [{"id": "web", "name": "Log in on the web"}]
            product = {"name": "agent-of-a-test", "version": os.environ.get("AGENT_VERSION", "1.0")}
            result = {"protocolVersion": version, "agentCapabilities": capabilities, "authMethods": methods, "agentInfo": product}
            wire.send({"id": message["id"], "result": result})
        elif method == "session/new":
            if DEED == "login":
                wire.send({"id": message["id"], "error": {"code": -32000, "message": "Authentication required"}})
                continue
            session = Session(wire, params)
            SESSIONS[session.id] = session
            print("a line that is no message", flush=True)
            wire.send({"id": message["id"], "result": {"sessionId": session.id}})
        elif method == "session/load":
            if not os.path.exists(kept(params["sessionId"])):
                wire.send({"id": message["id"], "error": {"code": -32602, "message": "no such session"}})
                continue
            session = Session(wire, params)
            SESSIONS[session.id] = session
            # As the protocol wants it: what was said is told again.
            for line in open(kept(session.id)):
                wire.say(session.id, json.loads(line), "user_message_chunk")
            session.say("Said before.")
            wire.send({"id": message["id"], "result": None})
        elif method == "session/set_mode":
            if params["modeId"] == "none-such":
                wire.send({"id": message["id"], "error": {"code": -32602, "message": "Invalid mode"}})
                continue
            SESSIONS[params["sessionId"]].mode = params["modeId"]
            wire.send({"id": message["id"], "result": {}})
        elif method == "session/prompt":
            session = SESSIONS[params["sessionId"]]
            session.turns += 1
            session.asked = message["id"]
            # What it tells of this turn beside its end.
            session.told = {}
            session.after = None
            texts = [block["text"] for block in params["prompt"]]
            try:
                reason = globals()[DEED.split("-")[0]](session, "\n\n".join(texts)) or "end_turn"
                wire.send({"id": message["id"], "result": {"stopReason": reason, **session.told}})
            except Exception as error:
                wire.send({"id": message["id"], "error": {"code": -32603, "message": f"{type(error).__name__}: {error}"}})
            if session.after:
                session.after()


USES_TOOLS = {"reference", "work", "files", "search", "late"}

main()

#!/bin/sh
# Plays four of the law trainee's sessions against a server of somebody else's: the litellm proxy, in all
# wire formats. Its mocked model writes gibberish, so the agent does no work and the user agent is never understood; the
# runs must end all the same. What is sent passes a gate that holds it against the official SDKs' types.
# Called by `make interop`, from the project's root. Needs python3 with venv, and PyPI for the first time.
set -eu

PYTHON=${PYTHON:-python3}
PORT=${PORT:-4917}
GATE=${GATE:-4918}
VENV=target/interop-venv
KEY=sk-interop-0123456789
HOST=$PWD/target/release/pibench-host

test -x "$VENV/bin/python" || "$PYTHON" -m venv "$VENV"
"$VENV/bin/pip" install --quiet --disable-pip-version-check -r tests/interop/requirements.txt

sh tests/interop/types.sh

dir=$(mktemp -d)
LITELLM_TELEMETRY=False "$VENV/bin/litellm" --config tests/interop/proxy.yaml --host 127.0.0.1 --port "$PORT" \
    >"$dir/proxy.log" 2>&1 &
proxy=$!
target/interop-types-venv/bin/python -B tests/interop/gate.py "http://127.0.0.1:$PORT" "$GATE" "$dir/problems.txt" &
gate=$!
trap 'kill "$proxy" "$gate" 2>/dev/null || true; rm -rf "$dir"' EXIT
is_up() {
    "$PYTHON" -c "import urllib.request; urllib.request.urlopen('http://127.0.0.1:$PORT/health/liveliness')" 2>/dev/null
}
tries=0
until is_up; do
    tries=$((tries + 1))
    if [ "$tries" -gt 90 ] || ! kill -0 "$proxy" 2>/dev/null; then
        cat "$dir/proxy.log"
        exit 1
    fi
    sleep 1
done

cp -r tasks "$dir/tasks"
cat >>"$dir/tasks/suite.toml" <<TOML

[providers.chat]
base_url = "http://127.0.0.1:$GATE/v1"
key_env = "INTEROP_KEY"

[providers.responses]
format = "responses"
base_url = "http://127.0.0.1:$GATE/v1"
key_env = "INTEROP_KEY"

[providers.messages]
format = "anthropic"
base_url = "http://127.0.0.1:$GATE/v1"
key_env = "INTEROP_KEY"
TOML

# play OUTCOME CODE ARGS...: this exit code, and each of the four sessions ended so.
play() {
    outcome=$1
    expected=$2
    shift 2
    rm -rf "$dir/run"
    code=0
    INTEROP_KEY=$KEY "$HOST" run "$dir/tasks/suite.toml" --runs 1 --out "$dir/run" \
        --session saltmarsh-chronology --session saltmarsh-exhibit --session corrie-extension \
        --session saltmarsh-statement "$@" >"$dir/log" 2>&1 || code=$?
    if [ "$code" -ne "$expected" ] || [ "$(grep -c "$outcome, " "$dir/log")" -ne 4 ]; then
        cat "$dir/log"
        echo "interop: $* ended with $code, and not as $outcome" >&2
        exit 1
    fi
    if grep -rq "$KEY" "$dir/run" "$dir/log"; then
        echo "interop: the key stands in a file" >&2
        exit 1
    fi
    if [ -s "$dir/problems.txt" ]; then
        sort "$dir/problems.txt" | uniq -c
        echo "interop: $*: not of the official SDKs' types" >&2
        exit 1
    fi
    echo "interop: $*: 4 sessions $outcome, exit code $code"
}
for format in chat responses messages; do
    play complete 9 --agent "$format/gibberish" --user lexical --judge lexical
    play judge_fault 8 --agent nop --user "$format/gibberish" --judge "$format/gibberish"
done

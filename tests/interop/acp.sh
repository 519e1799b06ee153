#!/bin/sh
# Plays the embedded law trainee with agents on the Agent Client Protocol's official TypeScript and Python SDKs, and a session
# with a product from npm whose model is the test's own. Called by `make interop-acp`, from the project's root. Needs Node.js,
# python3 with venv and bubblewrap, and npm and PyPI for the first time; without them it says so and passes.
set -eu

PYTHON=${PYTHON:-python3}
HOST=target/release/pibench-host
VENV=target/interop-acp-venv
NODE=target/interop-acp-node

skip() {
    echo "interop by the Agent Client Protocol skipped: $1"
    exit 0
}

command -v bwrap >/dev/null || { test "$(id -u)" = 0 && apt-get update -qq && apt-get install -y -qq bubblewrap; } >/dev/null 2>&1 \
    || skip "there is no bubblewrap, and it cannot be installed"
mkdir -p "$NODE"
refusal=$("$HOST" confine --workspace "$NODE" -- true 2>&1) || skip "bubblewrap cannot be used here: $refusal"
command -v node >/dev/null && command -v npm >/dev/null || skip "there is no Node.js with npm"
cp tests/interop/acp/package.json "$NODE/"
npm install --prefix "$NODE" --no-audit --no-fund --silent || skip "npm cannot install its packages"
test -x "$VENV/bin/python" || "$PYTHON" -m venv "$VENV" || skip "there is no python3 with venv"
"$VENV/bin/pip" install --quiet --disable-pip-version-check -r tests/interop/acp/requirements.txt || skip "pip cannot install its packages"
# The SDK is looked for beside the agent.
cp tests/interop/acp/agent.mjs "$NODE/"
"$VENV/bin/python" -B tests/interop/acp/play.py "$HOST" tasks/suite.toml "$NODE" "$VENV"

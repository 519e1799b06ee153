#!/bin/sh
# Plays the embedded law trainee with agents on the Agent Client Protocol's official TypeScript and Python SDKs, and a session
# with a product from npm whose model is the test's own. Called by `make interop-acp`, from the project's root. Needs Node.js,
# python3 with venv and bubblewrap, and npm and PyPI for the first time; without them it says so and passes.
set -eu

PYTHON=${PYTHON:-python3}
VENV=target/interop-acp-venv
NODE=target/interop-acp-node

mkdir -p "$NODE"
cp tests/interop/acp/package.json "$NODE/"
if ! command -v bwrap >/dev/null || ! command -v npm >/dev/null \
    || ! { test -x "$VENV/bin/python" || "$PYTHON" -m venv "$VENV"; } \
    || ! "$VENV/bin/pip" install --quiet --disable-pip-version-check -r tests/interop/acp/requirements.txt \
    || ! npm install --prefix "$NODE" --no-audit --no-fund --silent; then
    echo "interop by the Agent Client Protocol skipped: what it needs cannot be installed here"
    exit 0
fi
# The SDK is looked for beside the agent.
cp tests/interop/acp/agent.mjs "$NODE/"
"$VENV/bin/python" -B tests/interop/acp/play.py target/release/pibench-host tasks/suite.toml "$NODE" "$VENV"

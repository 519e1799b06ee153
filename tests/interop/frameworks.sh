#!/bin/sh
# Plays the embedded law trainee with agents on LangGraph and on the OpenAI Agents SDK, over the Python package's `serve`, with a
# model of the test's own. Called by `make interop-frameworks`, from the project's root. Needs python3 with venv, and PyPI for the
# first time; without them it says so and passes.
set -eu

PYTHON=${PYTHON:-python3}
VENV=target/interop-frameworks-venv

if ! { test -x "$VENV/bin/python" || "$PYTHON" -m venv "$VENV"; } \
    || ! "$VENV/bin/pip" install --quiet --disable-pip-version-check -r tests/interop/frameworks/requirements.txt; then
    echo "interop with frameworks of agents skipped: they cannot be installed here"
    exit 0
fi
"$VENV/bin/python" -B tests/interop/frameworks/play.py target/release/pibench-host tasks/suite.toml

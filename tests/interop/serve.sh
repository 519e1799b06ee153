#!/bin/sh
# Plays the embedded suite through `pibench-host serve` with the official Python client of the Model Context Protocol, over
# both transports: the scores have to be those of the built-in reference policy. Called by `make interop-serve`, from the
# project's root. Needs python3 with venv, and PyPI for the first time.
set -eu

PYTHON=${PYTHON:-python3}
VENV=target/interop-client-venv

test -x "$VENV/bin/python" || "$PYTHON" -m venv "$VENV"
"$VENV/bin/pip" install --quiet --disable-pip-version-check -r tests/interop/client-requirements.txt
for transport in http stdio; do
    "$VENV/bin/python" -B tests/interop/serve_client.py target/release/pibench-host tasks/suite.toml $transport
done

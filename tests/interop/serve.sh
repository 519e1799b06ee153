#!/bin/sh
# Plays the embedded suite through `pibench-host serve` with the official Python client of the Model Context Protocol, over
# both transports: the scores have to be those of the built-in reference policy. Called by `make interop-serve`, from the
# project's root. Needs python3 with venv, and PyPI for the first time; without them it says
# so and passes.
set -eu

PYTHON=${PYTHON:-python3}
VENV=target/interop-client-venv

if ! { test -x "$VENV/bin/python" || "$PYTHON" -m venv "$VENV"; } \
    || ! "$VENV/bin/pip" install --quiet --disable-pip-version-check -r tests/interop/client-requirements.txt; then
    echo "interop with the official client skipped: it cannot be installed here"
    exit 0
fi
for transport in http stdio; do
    "$VENV/bin/python" -B tests/interop/serve_client.py target/release/pibench-host tasks/suite.toml $transport
done

#!/bin/sh
# Checks what the host sends and reads, in all wire formats and with every built-in model's habits, against the types of the
# official SDKs. Called by `make interop-types`, from the project's root. Needs python3 with venv, and PyPI for the first
# time; without them it passes, and its last line says that nothing was checked.
set -eu

PYTHON=${PYTHON:-python3}
VENV=target/interop-types-venv

if ! { test -x "$VENV/bin/python" || "$PYTHON" -m venv "$VENV"; } \
    || ! "$VENV/bin/pip" install --quiet --disable-pip-version-check -r tests/interop/sdk-requirements.txt; then
    echo "SKIPPED, NOTHING WAS CHECKED: interop-types needs the official SDKs of PyPI, which cannot be installed here"
    exit 0
fi
"$VENV/bin/python" -B tests/interop/sdk_types.py target/release/pibench-host host/crates/suite/src/providers.toml tasks/suite.toml

#!/bin/bash
# Runs in an object store. Called by `make cluster`, from the project's root; needs PyPI for the first time, and where that is
# not to be had it says so and passes.
set -euo pipefail
venv=target/store-venv
if { test -x $venv/bin/python || python3 -m venv $venv; } > /dev/null 2>&1 \
    && $venv/bin/pip install --quiet --disable-pip-version-check -r tests/cluster/store-requirements.txt; then
    exec $venv/bin/python -B tests/cluster/store.py "$PWD/target/release/pibench-host"
fi
echo "store skipped: moto cannot be installed here"

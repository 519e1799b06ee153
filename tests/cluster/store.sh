#!/bin/bash
# Runs in object stores: S3, and in short Google's and Azure's. Called by `make cluster`, from the project's root; needs PyPI for the
# first time, and npm for Azure's emulator. Where these are not to be had it says so and passes.
set -euo pipefail
venv=target/store-venv
node=target/store-node
if ! { test -x $venv/bin/python || python3 -m venv $venv; } > /dev/null 2>&1 \
    || ! $venv/bin/pip install --quiet --disable-pip-version-check -r tests/cluster/store-requirements.txt; then
    echo "store skipped: moto cannot be installed here"
    exit 0
fi
azurite=()
mkdir -p $node
cp tests/cluster/package.json $node/
if command -v node > /dev/null && npm install --prefix $node --no-audit --no-fund --silent > /dev/null 2>&1; then
    azurite=("$node/node_modules/.bin/azurite-blob")
fi
exec $venv/bin/python -B tests/cluster/store.py "$PWD/target/release/pibench-host" "${azurite[@]}"

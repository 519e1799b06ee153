#!/bin/sh
# Our apps beside the services that they stand in for: the same random calls go to both, and their answers are compared. Called by
# `make interop-services`, from the project's root, after a build. The services come from PyPI and are asked through their own doors.
set -eu

venv=target/services-venv
test -f $venv/ready || { python3 -m venv $venv && $venv/bin/pip install --quiet --disable-pip-version-check -r tests/interop/services-requirements.txt && $venv/bin/appworld install >/dev/null && touch $venv/ready; }
PIBENCH_CACHE="$PWD/target/test-cache" APPWORLD_ROOT="$PWD/$venv" $venv/bin/python -W ignore tests/interop/services.py "$PWD/target/release/pibench-host" "$PWD/target/plugins"

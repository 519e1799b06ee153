#!/bin/sh
# What `export` writes and `--otlp` sends, read by the programs that it is for. Called by `make interop-export`, from the project's root, after a build.
set -eu

venv=target/export-venv
test -f $venv/ready || { python3 -m venv $venv && $venv/bin/pip install --quiet --disable-pip-version-check -r tests/interop/export-requirements.txt && $venv/bin/pip download --quiet --disable-pip-version-check --no-deps --only-binary=:all: --python-version 3.13 --dest $venv -r tests/interop/atif-requirements.txt && touch $venv/ready; }
scene=$(mktemp -d)
trap 'rm -rf "$scene"' EXIT
program=$PWD/target/release/pibench-host
export PIBENCH_CACHE="$PWD/target/test-cache"
"$program" -q run tasks/suite.toml --persona law_trainee --agent reactive --runs 2 --out "$scene/run" >/dev/null
for format in inspect atif parquet jsonl hf; do
    "$program" export "$scene/run" --format $format --out "$scene/$format" >/dev/null
done
"$program" report "$scene/run" --format json >"$scene/report.json"
$venv/bin/python tests/interop/export.py "$scene" $venv/harbor-*.whl
$venv/bin/python tests/interop/otlp.py "$program" "$scene"

#!/bin/sh
# Tries a program that is to be handed out, where there is neither Rust nor a checkout. $1: the folder that holds it.
set -eu

scene=$(mktemp -d)
trap 'rm -rf "$scene"' EXIT
folder=$1
cd "$scene"
alone() {
    env -i PATH="$folder:/usr/bin:/bin" HOME="$scene" pibench-host "$@"
}
alone --version
alone suite new mine
alone check mine/suite.toml >/dev/null
alone run mine/suite.toml -q --json --out run >results.json
# The suite and the plugins that the program carries: a session that rules alone decide.
alone run -q --json --session archive-tidy --persona law_trainee --out played >carried.json
python3 - <<'PYTHON'
import json
for file in ("results.json", "carried.json"):
    results = json.load(open(file))
    assert (results["proc"], results["comp"]) == (100.0, 100.0), results
PYTHON

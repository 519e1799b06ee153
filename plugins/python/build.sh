#!/bin/sh
# Makes the component `python`: build.sh VENV OUTPUT, from the project's root. VENV is a virtual
# environment with requirements.txt installed.
set -eu

venv=$1
output=$2
here=plugins/python

# Only what goes into the component: the tool takes every module that it finds.
stage=$(mktemp -d)
trap 'rm -rf "$stage"' EXIT
cp "$here/plugin.py" "$here/program.py" "$here/rule_script.py" "$here/snapshot.py" "$here/stand_ins.py" "$stage"
cp -R "$("$venv/bin/python" -c 'import os, yaml; print(os.path.dirname(yaml.__file__))')" "$stage/yaml"
rm -rf "$stage"/yaml/*.so "$stage"/yaml/__pycache__
# Data, read while the component is made.
cp -R "$("$venv/bin/python" -c 'import os, tzdata; print(os.path.dirname(tzdata.__file__))')/zoneinfo" "$stage/zones"
find "$stage/zones" -name '*.py' -o -name __pycache__ | xargs rm -rf

mkdir -p "$(dirname "$output")"
"$venv/bin/componentize-py" --quiet -d wit -w python-runtime componentize -p "$stage" plugin -o "$output.new"
mv "$output.new" "$output"

#!/bin/sh
# Builds the wheel and tries it where there is neither Rust nor a checkout. Called by `make wheel`, from the project's root,
# after a build. $1: the profile.
set -eu

tools=target/packages/venv
test -x $tools/bin/uvx || {
    python3 -m venv $tools && $tools/bin/pip install --quiet --disable-pip-version-check -r host/packages/requirements.txt
}
# `make image` builds it.
$tools/bin/hadolint host/packages/Containerfile
rm -rf target/wheels
$tools/bin/maturin build --quiet --profile "$1" --manifest-path host/Cargo.toml --out target/wheels
wheel=$(ls "$PWD"/target/wheels/pibench_host-*.whl)

# A fresh environment: only its own programs and the system's are on the path.
fresh=$(mktemp -d)
trap 'rm -rf "$fresh"' EXIT
python3 -m venv "$fresh"
"$fresh/bin/pip" install --quiet --disable-pip-version-check --no-index "$wheel"
sh host/packages/try.sh "$fresh/bin"
# As `uvx` takes it, from the file alone.
UV_CACHE_DIR="$fresh/uv" UV_TOOL_DIR="$fresh/tools" $tools/bin/uvx --quiet --offline --no-config --from "$wheel" pibench-host --version
echo "wheel: $(basename "$wheel"), $(stat -c %s "$wheel") bytes, plays alone"

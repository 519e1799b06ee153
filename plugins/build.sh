#!/bin/sh
# Builds components: build.sh -p NAME ..., from the project's root. No path of this machine is in them: the same sources
# are the same bytes wherever they are built, so that anybody can check a digest. Digests are of all of them made at once, as
# `make plugins` does: alone, a component's dependencies have fewer features.
set -eu

# A separator that no path has: RUSTFLAGS would break at blanks.
unit=$(printf '\037')
flags=
remap() {
  flags="${flags:+$flags$unit}--remap-path-prefix=$1=$2"
}

remap "$(pwd)" /pibench-host
# Of two that fit, the later one counts.
remap "${CARGO_TARGET_DIR:-$(pwd)/target}" /pibench-host/target
cargo_home=${CARGO_HOME:-$HOME/.cargo}
for registry in "$cargo_home"/registry/src/*; do
  # Its name depends on where the registry is mirrored.
  remap "$registry" /registry
done
# Without the sources of the standard library, its paths are these already.
rustc=$(rustc --version --verbose | sed -n 's/^commit-hash: //p')
remap "$(rustc --print sysroot)/lib/rustlib/src/rust" "/rustc/$rustc"

CARGO_ENCODED_RUSTFLAGS=$flags cargo build --profile guest --locked --target wasm32-wasip2 "$@"

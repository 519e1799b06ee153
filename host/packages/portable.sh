#!/bin/sh
# Whether the program compiles for macOS, on a machine of another system. Called by `make portable`, from the project's root.
# $1: a target of rustup's. What is in C is not compiled, since nothing is linked: it takes Apple's headers.
set -eu

target=$1
rustup target list --installed | grep -qx "$target" || rustup target add "$target"
tools=$(mktemp -d)
trap 'rm -rf "$tools"' EXIT
# Writes an empty file wherever an object or an archive is asked for.
cat >"$tools/cc" <<'END'
#!/bin/sh
while test $# -gt 0; do
    case $1 in
    -o) : >"$2" ;;
    *.a) : >"$1" ;;
    esac
    shift
done
END
chmod +x "$tools/cc"
name=$(echo "$target" | tr - _)
export "CC_$name=$tools/cc" "CXX_$name=$tools/cc" "AR_$name=$tools/cc" SDKROOT="$tools"
cargo check --locked --bins --target "$target"

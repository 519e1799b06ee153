#!/bin/sh
# Packs the program with completions, manual pages, licence notices and digests. Called by `make dist`, from the project's root,
# after a build. $1: the program.
set -eu

program=$1
# Bytes.
most=60000000
size=$(stat -c %s "$program")
if [ "$size" -gt "$most" ]; then
    echo "error: failed to pack $program: it has $size bytes, more than $most; look at what grew by \`size -A $program\`" >&2
    exit 1
fi
version=$("$program" -V | cut -d ' ' -f 2)
name=pibench-host-$version-$(uname -m)-linux
out=target/packages/$name
rm -rf "$out"
mkdir -p "$out/completions"
cp "$program" "$out/pibench-host"
cp LICENSE README.md CHANGELOG.md SECURITY.md "$out/"
for shell in bash elvish fish powershell zsh; do
    "$program" completions $shell >"$out/completions/pibench-host.$shell"
done
"$program" man --out "$out/man"
python3 host/packages/notices.py >"$out/NOTICES"
(cd "$out" && find . -type f ! -name SHA256SUMS | LC_ALL=C sort | xargs sha256sum >SHA256SUMS)
tar --sort=name --owner=0 --group=0 --numeric-owner --mtime='2026-01-01 00:00Z' -C target/packages -czf "target/packages/$name.tar.gz" "$name"
(cd target/packages && sha256sum "$name.tar.gz" >"$name.tar.gz.sha256")

# What was packed is whole, and plays alone.
check=$(mktemp -d)
trap 'rm -rf "$check"' EXIT
(cd target/packages && sha256sum --quiet -c "$name.tar.gz.sha256")
tar -C "$check" -xzf "target/packages/$name.tar.gz"
(
    cd "$check/$name"
    sha256sum --quiet -c SHA256SUMS
    test -s man/pibench-host-run.1
    for shell in bash elvish fish powershell zsh; do
        test -s completions/pibench-host.$shell
    done
    test -s LICENSE
    grep -q '^wasmtime ' NOTICES
)
sh host/packages/try.sh "$check/$name"
echo "dist: $name.tar.gz, $(stat -c %s "target/packages/$name.tar.gz") bytes, plays alone"

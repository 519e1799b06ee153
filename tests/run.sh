#!/bin/sh
# Runs every test and states the counts in its last line; with --no-run it compiles those in Rust only. Called by `make test`, from the
# project's root.
set -u

# In memory where there is room: on a disk that many files were deleted from lately, making one takes long.
room=$(df -k --output=avail /dev/shm 2>/dev/null | tail -1)
if [ -z "${TMPDIR:-}" ] && [ "${room:-0}" -gt 8000000 ] && ! grep -q ' /dev/shm .*noexec' /proc/mounts; then
    TMPDIR=/dev/shm
    export TMPDIR
fi

log=$(mktemp)
trap 'rm -f "$log"' EXIT

# One more than there are processors: tests wait for clocks, too.
: "${RUST_TEST_THREADS:=$(($(getconf _NPROCESSORS_ONLN) + 1))}"
export RUST_TEST_THREADS

# Apart from the host's: together they have other features, and the program would be compiled once more.
plugins="-p pibench-world -p pibench-search -p pibench-sdk -p simple_note -p gmail -p spotify -p rules -p amazon -p splitwise -p file_system -p phone -p todoist -p shell -p document -p hostile_app -p hostile_grader"
# shellcheck disable=SC2086
if [ "${1:-}" = --no-run ]; then
    cargo test --release --locked --no-run && cargo test --release --locked --no-run $plugins
    exit
fi

# The exit code of a pipe is its last command's, so failures are counted in the output.
cargo test --release --locked --no-fail-fast 2>&1 | tee -a "$log"
# shellcheck disable=SC2086
cargo test --release --locked --no-fail-fast $plugins 2>&1 | tee -a "$log"

passed=$(sed -n 's/^test result: .* \([0-9]*\) passed; .*/\1/p' "$log" | awk '{n += $1} END {print n + 0}')
failed=$(sed -n 's/^test result: .* \([0-9]*\) failed; .*/\1/p' "$log" | awk '{n += $1} END {print n + 0}')
broken=$(grep -c -e '^error' -e 'could not compile' "$log")

if [ -f target/plugins/python.wasm ]; then
    if python3 -B -m unittest discover -s plugins/python/tests >"$log" 2>&1; then
        passed=$((passed + $(sed -n 's/^Ran \([0-9]*\) test.*/\1/p' "$log")))
    else
        failed=$((failed + 1))
        cat "$log"
    fi
fi

# Without a browser it says so, and counts nothing.
sh tests/browser/run.sh 2>&1 | tee "$log"
passed=$((passed + $(sed -n 's/^ℹ pass //p' "$log" | awk '{n += $1} END {print n + 0}')))
failed=$((failed + $(sed -n 's/^ℹ fail //p' "$log" | awk '{n += $1} END {print n + 0}')))

echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ] && [ "$broken" -eq 0 ] && [ "$passed" -gt 0 ]

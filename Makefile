# The one entry point. `make run` and `make test` set up whatever they need.

SUITE ?= tasks/suite.toml
# As in rust-toolchain.toml, which rustup may be told not to install by itself.
RUST := 1.95.0
HOST := target/release/pibench-host
GUESTS := simple_note gmail spotify rules amazon splitwise file_system phone todoist shell document
HOSTILE := hostile_app hostile_grader
PYTHON ?= python3
VENV := target/venv
PYTHON_PLUGIN := target/plugins/python.wasm
GUEST := sh plugins/build.sh

DENY := target/tools/bin/cargo-deny
FUZZER := target/tools/bin/cargo-fuzz
FUZZ_TARGETS := $(basename $(notdir $(wildcard tests/fuzz/fuzz_targets/*.rs)))
FUZZ_SECONDS ?= 20

.PHONY: setup plugins program embedded hostile run test authors interop interop-types interop-llm interop-serve interop-export interop-acp interop-frameworks interop-services cluster browser wheel dist image portable bench hub-load fuzz lint doc deny ci clean

setup:
	rustup toolchain list | grep -q '^$(RUST)-' || rustup toolchain install $(RUST) --profile minimal -c rustfmt -c clippy
	rustup target list --installed | grep -qx wasm32-wasip2 || rustup target add wasm32-wasip2

# The lock is written anew once there is a host: plugins without one are loaded too.
plugins: setup $(PYTHON_PLUGIN)
	$(GUEST) $(addprefix -p ,$(GUESTS))
	mkdir -p target/plugins
	rm -f target/plugins/pibench.lock target/plugins/tools.json
	cp $(addprefix target/wasm32-wasip2/guest/,$(addsuffix .wasm,$(GUESTS))) target/plugins/

# Without venv and pip, Python rule scripts are left out, and `pibench-host check` names what then cannot run; the agent's
# shell says that it has no python3.
$(PYTHON_PLUGIN): $(wildcard plugins/python/*) wit/types.wit wit/host.wit wit/grader.wit wit/shell.wit wit/world.wit
	@$(PYTHON) -c 'import ensurepip, venv' 2>/dev/null && $(MAKE) --no-print-directory python-plugin \
	  || echo "no python3 with venv: the grader and the command python3 are left out"

.PHONY: python-plugin
python-plugin:
	test -x $(VENV)/bin/componentize-py || $(PYTHON) -m venv $(VENV)
	$(VENV)/bin/pip install --quiet --disable-pip-version-check -r plugins/python/requirements.txt
	sh plugins/python/build.sh $(VENV) $(PYTHON_PLUGIN)

# Side by side: the last components take one processor for minutes.
$(HOST): setup
	$(MAKE) --no-print-directory -j2 plugins program
	$(HOST) plugin lock --tools --plugins target/plugins
	$(MAKE) --no-print-directory embedded

program: setup
	cargo build --release --locked --bins

# What the program carries. What did not change is not packed again, and the program is then not built again.
embedded:
	target/release/pibench-embed target/plugins tasks target/embedded
	cargo build --release --locked --bins

run: $(HOST)
	$(HOST) run $(SUITE)

hostile: setup
	$(GUEST) $(addprefix -p ,$(HOSTILE))

# Agents of others are confined by bubblewrap; where it cannot be had, their tests say so and are left out.
test: $(HOST) hostile
	command -v bwrap >/dev/null || { test "$$(id -u)" = 0 && apt-get update -qq && apt-get install -y -qq bubblewrap; } >/dev/null 2>&1 \
	  || echo "no bubblewrap: tests of confined agents are left out"
	sh tests/run.sh

# What the guides for authors say, carried out: new plugins in Rust and Python are built, tested and played.
authors: $(HOST)
	cargo test --release --locked --test integration -- --ignored authors

# Against a server of somebody else's; needs PyPI for the first time.
interop: $(HOST)
	sh tests/interop/run.sh

# What is sent and read, against the types of the official SDKs; needs PyPI for the first time.
interop-types: $(HOST)
	sh tests/interop/types.sh

# What `export` writes, read by inspect_ai, pandas, pyarrow and harbor; needs PyPI for the first time.
interop-export: $(HOST)
	sh tests/interop/export.sh

# Our apps beside the services that they stand in for, by the same random calls. Needs PyPI for the first time.
interop-services: $(HOST)
	sh tests/interop/services.sh

# A run on a Slurm cluster of this machine's own, as root; installs Debian's slurm-wlm and munge for the first time. The manifests for
# Kubernetes need PyPI for the first time.
cluster: $(HOST)
	bash tests/cluster/run.sh
	bash tests/cluster/store.sh

# A real language model in all roles; needs PyPI for the first time.
interop-llm: $(HOST)
	sh tests/interop/llm.sh

# The same with the official client of the Model Context Protocol, against `serve`.
interop-serve: $(HOST)
	sh tests/interop/serve.sh

# Agents on the official SDKs of the Agent Client Protocol, and one from npm; needs npm and PyPI for the first time.
interop-acp: $(HOST)
	sh tests/interop/acp.sh

# Agents on LangGraph and the OpenAI Agents SDK, over the Python package; needs PyPI for the first time.
interop-frameworks: $(HOST)
	sh tests/interop/frameworks.sh

# Says so and passes where neither browser nor Node.js can be installed.
browser: $(HOST)
	sh tests/browser/run.sh

# `PROFILE=dist` gives a smaller program, of a slow build of its own.
PROFILE ?= release

# Tried in a fresh environment; needs PyPI for the first time.
wheel: $(HOST)
	sh host/packages/wheel.sh $(PROFILE)

# An archive with a small program that holds its own C library, for any Linux, with completions, manual pages, licence notices and
# digests, unpacked and tried again.
STATIC := $(shell uname -m)-unknown-linux-musl
dist: $(HOST)
	rustup target list --installed | grep -qx $(STATIC) || rustup target add $(STATIC)
	command -v musl-gcc >/dev/null || apt-get install -y -qq musl-tools >/dev/null
	cargo build --profile dist --locked --target $(STATIC) --bins
	sh host/packages/dist.sh target/$(STATIC)/dist/pibench-host

# Whether it compiles for other systems than this one; nothing is run.
portable: setup
	sh host/packages/portable.sh aarch64-apple-darwin
	sh host/packages/portable.sh x86_64-apple-darwin

# The image by its Containerfile, built and played in; needs root and Debian's buildah, which it installs.
image: dist
	sh host/packages/image.sh

# In memory where there is such a folder: on a disk that many files were deleted from lately, the disk is measured.
BENCH_DIR ?= $(firstword $(wildcard /dev/shm) /tmp)

bench: $(HOST)
	TMPDIR=$(BENCH_DIR) cargo bench --locked -p pibench-host
	cargo test --release --locked --lib -- --ignored --nocapture where_the_time_of_a_call_goes

# How long calls take while 200 agents play on a hub of this machine at once, each a call a second; `HUB_THINK_MS=500` for two.
HUB_THINK_MS ?= 1000

hub-load: $(HOST)
	HUB_THINK_MS=$(HUB_THINK_MS) cargo test --release --locked --test integration -- --ignored --nocapture two_hundred_agents

# Each target starts from its seeds and from what was found before. A finding is in target/fuzz/found: mend it, then keep
# the input in tests/fuzz/found/<target>, where `make test` repeats it.
fuzz: setup
	test -x $(FUZZER) || cargo install cargo-fuzz --version 0.13.2 --locked --root target/tools
	for target in $(FUZZ_TARGETS); do \
	  mkdir -p target/fuzz/corpus/$$target target/fuzz/found/$$target && \
	  RUSTUP_TOOLCHAIN=$(RUST) $(FUZZER) fuzz run --fuzz-dir tests/fuzz --target-dir target/fuzz/build --sanitizer none $$target \
	    target/fuzz/corpus/$$target tests/fuzz/seeds/$$target $$(ls -d tests/fuzz/found/$$target 2>/dev/null) -- \
	    -max_total_time=$(FUZZ_SECONDS) -timeout=20 -rss_limit_mb=4096 -artifact_prefix=target/fuzz/found/$$target/ || exit 1; \
	done

lint: setup
	cargo fmt --all --check
	cargo clippy --release --locked --workspace --all-targets -- -D warnings

doc: setup
	RUSTDOCFLAGS="-D warnings" cargo doc --release --locked --workspace --no-deps

# Which crates, licences and sources the project may have. Known vulnerabilities are left out: their list is on the network.
deny: setup
	test -x $(DENY) || CARGO_PROFILE_DEV_DEBUG=0 cargo install cargo-deny --version 0.20.2 --locked --debug --root target/tools
	$(DENY) --config .config/deny.toml check --hide-inclusion-graph bans licenses sources

ci:
	./.ci/run

clean:
	cargo clean

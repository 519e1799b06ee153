#!/bin/bash
# A run in four parts on a Slurm cluster of six nodes on this machine: one part is requeued, one node is killed with its host, one
# is lost while its host goes on writing, and one part has less time than it takes. What is merged has to be what one machine
# makes, to the byte. Before it ten thousand episodes in 64 parts, and then the manifests for Kubernetes by its schemas, and the host as a container's program. Called by
# `make cluster`, from the project's root. Where it cannot be, it says why and passes.
set -euo pipefail

skip() {
    echo "cluster skipped: $1"
    exit 0
}
[ "$(id -u)" = 0 ] || skip "it wants root, for munge and slurmd"
command -v python3 > /dev/null || skip "there is no python3"
if ! command -v slurmctld > /dev/null || ! command -v munged > /dev/null; then
    command -v apt-get > /dev/null || skip "neither Slurm nor apt-get is here"
    { apt-get install -qq -y slurm-wlm munge || { apt-get update -qq && apt-get install -qq -y slurm-wlm munge; }; } \
        > /dev/null 2>&1 < /dev/null || skip "slurm-wlm and munge cannot be installed here"
fi

host=$PWD/target/release/pibench-host
here=$PWD/tests/cluster
run=$(mktemp -d /tmp/pibench-cluster-XXXXXX)
# Of tens of thousands of files: in memory where there is room, or the disk is measured.
room=$(df --output=avail -k /dev/shm 2> /dev/null | tail -n 1)
large=$(mktemp -d "$([ "${room:-0}" -gt 2000000 ] && echo /dev/shm || echo /tmp)/pibench-scale-XXXXXX")
key=sk-cluster-$(od -An -N8 -tx8 /dev/urandom | tr -d ' ')
started=()
stop() {
    for file in "$run"/slurmd-*.pid "$run/slurmctld.pid" "$run/munge/pid"; do
        [ ! -s "$file" ] || kill "$(cat "$file")" 2> /dev/null || true
    done
    for id in "${started[@]}"; do kill "$id" 2> /dev/null || true; done
    # What is ending writes a little longer.
    [ -n "${KEEP:-}" ] || rm -rf "$run" "$large" 2> /dev/null || { sleep 2 && rm -rf "$run" "$large"; }
}
fail() {
    echo "error: $1" >&2
    tail -n 20 "$run"/out/log/* "$run/slurmctld.log" >&2 2> /dev/null || true
    exit 1
}
trap stop EXIT
chmod 755 "$run" "$large"

# until WHAT SECONDS COMMAND...: looks until the command succeeds.
until_so() {
    local what=$1 end=$((SECONDS + $2))
    shift 2
    until "$@"; do
        [ "$SECONDS" -lt "$end" ] || fail "waited too long until $what"
        sleep 0.2
    done
}

# model FILE DELAY: a model server; its port is in FILE.
model() {
    python3 -B "$here/model.py" "$1" "$2" &
    started+=($!)
    until_so "a model server listens" 10 test -s "$1"
}

begin_slurm() {
    local port=$((20000 + RANDOM % 20000))
    mkdir -p "$run"/{state,munge}
    dd if=/dev/urandom of="$run/munge/key" bs=1024 count=1 status=none
    chown -R munge: "$run/munge" || skip "there is no user munge"
    chmod 400 "$run/munge/key"
    # Others may write to the folders above.
    runuser -u munge -- munged --force --key-file="$run/munge/key" --socket="$run/munge/socket" \
        --pid-file="$run/munge/pid" --log-file="$run/munge/log" --seed-file="$run/munge/seed" \
        || skip "munged does not start here"
    sed -e "s#@RUN@#$run#g; s#@PORT@#$port#; s#@FIRST@#$((port + 1))#; s#@LAST@#$((port + 6))#" \
        "$here/slurm.conf.in" > "$run/slurm.conf"
    export SLURM_CONF=$run/slurm.conf
    slurmctld -f "$SLURM_CONF" -c || skip "slurmctld does not start here"
    for node in 1 2 3 4 5 6; do
        mkdir "$run/spool-w$node"
        slurmd -f "$SLURM_CONF" -N "w$node" || skip "slurmd does not start here"
    done
    local end=$((SECONDS + 60))
    until all_idle; do
        [ "$SECONDS" -lt "$end" ] || skip "the nodes of a cluster do not come up here"
        sleep 0.2
    done
}
all_idle() { [ "$(sinfo -h -t idle -o %D 2> /dev/null | awk '{n += $1} END {print n + 0}')" = 6 ]; }

# The host that plays a part: its command line names the folder, its environment the task.
host_of() {
    local file id
    for file in /proc/[0-9]*/cmdline; do
        id=${file#/proc/} id=${id%/cmdline}
        if tr '\0' ' ' 2> /dev/null < "$file" | grep -q -- "^$host run --shard auto --out $run/out " \
            && tr '\0' '\n' 2> /dev/null < "/proc/$id/environ" | grep -qx "SLURM_ARRAY_TASK_ID=$1"; then
            echo "$id"
            return
        fi
    done
    return 1
}
parent_of() { awk '/^PPid:/ {print $2}' "/proc/$1/status"; }
turns() { cat "$run/out/part-$1"/journal/* 2> /dev/null | grep -c '"event":"turn"' || true; }
plays() { [ "$(turns "$1")" -ge 1 ]; }
starts() { sed -n 's/.*"number":\([0-9]*\).*/\1/p' "$run/out/part-$1/lock"; }
node_of() { sed -n 's/.*"node":"\([^"]*\)".*/\1/p' "$run/out/part-$1/lock"; }
ended() { [ -z "$(squeue -h -j "$1" -o %i 2> /dev/null)" ]; }

# Ends a node as a power cut does, with what runs there but, perhaps, its host. By their ids: daemon, step and script.
lose() {
    local host_id script step
    host_id=$(host_of "$1") || fail "part $1 is played by nobody"
    script=$(parent_of "$host_id")
    step=$(parent_of "$script")
    kill -9 "$(cat "$run/slurmd-$(node_of "$1").pid")" "$step" "$script"
    [ "$2" = spared ] || kill -9 "$host_id"
}

# Ten thousand episodes in 64 parts through Slurm, from handing them in to a verified report.
scale() {
    local began=$SECONDS merge
    python3 -B "$here/hundred.py" "$large/suite"
    "$host" script slurm --parts 64 --out "$large/out" -- "$large/suite/suite.toml" --agent reference --runs 100 > "$large/play.sh"
    read -r _ merge < <(bash "$large/play.sh")
    until_so "10,000 episodes are merged and verified" 300 ended "$merge"
    "$host" -v report "$large/out/run" --out "$large/report" > /dev/null 2> "$large/said" || fail "the report fails: $(cat "$large/said")"
    local of=$((SECONDS - began))
    "$host" -v merge "$large/out" --out "$large/again" > /dev/null 2>> "$large/said"
    "$host" -v verify "$large/again" > /dev/null 2>> "$large/said"
    [ "$(find "$large/again/journal" -name '*.jsonl' | wc -l)" = 10000 ] || fail "10,000 episodes are not there"
    [ "$of" -lt 300 ] || fail "10,000 episodes took $of s, and may take 300"
    echo "cluster: 10,000 episodes in 64 parts on Slurm, from handing in to a verified report in $of s; report, merge and verify:"
    grep -i memory "$large/said"
    rm -rf "$large"
}

episode=(tasks/suite.toml --agent openai/m --user lexical --judge lexical --no-preflight
    --persona law_trainee --session saltmarsh-statement)
options=("${episode[@]}" --runs 4)
export PIBENCH_CACHE=${PIBENCH_CACHE:-$PWD/target/test-cache}
# A part takes a minute and a half: the signal comes well before its end.
model "$run/slow" 2.6
model "$run/quick" 0
printf 'OPENAI_API_KEY=%s\nOPENAI_BASE_URL=http://127.0.0.1:%s/v1\n' "$key" "$(cat "$run/slow")" > "$run/keys"
chmod 600 "$run/keys"
export PIBENCH_KEYS=$run/keys

echo "one machine:"
OPENAI_API_KEY=$key OPENAI_BASE_URL=http://127.0.0.1:$(cat "$run/quick")/v1 \
    "$host" -q run "${options[@]}" --out "$run/whole" > /dev/null
begin_slurm
scale
"$host" script slurm --out "$run/out" -- "${options[@]}" > "$run/play.sh"
! grep -q "$key" "$run/play.sh" || fail "a key stands in the script"
# The key is in the environment of who hands the run in, and must not go further.
read -r array merge < <(OPENAI_API_KEY=$key SBATCH_SIGNAL=B:USR1@100 bash "$run/play.sh")
# Slurm looks at limits every half minute: the signal comes 20 to 50 s after the start, and leaves a busy machine more than a minute.
scontrol update JobId="${array}_4" TimeLimit=2
for part in 1 2 3 4; do until_so "part $part plays" 60 plays "$part"; done
! grep -rqs "$key" "$run/state" "$run"/spool-* || fail "Slurm keeps a key"
grep -rqs "PIBENCH_KEYS=$run/keys" "$run/state" || fail "what Slurm keeps of the environment was not found"
first=$(host_of 1) || fail "part 1 is played by nobody"
lose 1 spared
scontrol requeue "${array}_2"
lose 3 killed
"$host" show --once "$run/out"
"$host" merge "$run/out" > /dev/null 2> "$run/early" && fail "a run that still plays is merged"
grep -q "it is not played to its end" "$run/early" || fail "merge says: $(cat "$run/early")"
[ ! -e "$run/out/run" ] || fail "a merge that failed leaves something"
kill -0 "$first" || fail "the orphan has ended too soon to be one"
until_so "the run is merged" 400 ended "$merge"
cat "$run"/out/log/pibench-"$merge"_*.log
"$host" show --once "$run/out" > /dev/null
for part in 1 2 3 4; do
    [ "$(starts "$part")" -ge 2 ] || fail "part $part was begun but once"
done
grep -q "exit code 4" "$run"/out/log/*_1.log || fail "the orphan kept nobody out"
grep -q "exit code 130" "$run"/out/log/*_4.log || fail "part 4 had time enough"
"$host" merge "$run/out" > /dev/null || fail "merged again, it fails"
"$host" verify "$run/out/run" > /dev/null || fail "the merged run does not verify"
diff -r -x lock -x log.jsonl -x timing.jsonl -x manifest.json -x seal.json "$run/whole" "$run/out/run" \
    || fail "the merged run is not that of one machine"
echo "cluster: four parts on Slurm, one requeued, one killed with its node, one orphaned, one out of time: the bytes of one machine"
. "$here/kubernetes.sh"

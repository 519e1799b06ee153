#!/bin/bash
# A run in {{ parts }} parts on Slurm, each a task of an array; then one job that merges and verifies them.
#   bash FILE                          hands both in, and prints their numbers
#   sbatch --array=3,7 FILE part       begins or goes on with parts 3 and 7 alone
#   {{ host_plain }} show {{ out_plain }}
# Keys stand in no script and in no job's environment: the tasks read NAME=value lines from the file that PIBENCH_KEYS names,
# else ~/.config/pibench-host/keys, if only its owner can read it. A value is taken as it stands: no quotes, nothing expanded.
# For a private suite PIBENCH_IDENTITY=FILE is one of the lines.
# Time, memory and partition are for this cluster's owner to say: below, or by SBATCH_PARTITION, SBATCH_ACCOUNT and the like.
#SBATCH --job-name=pibench
#SBATCH --cpus-per-task=1 --mem=2G --time=04:00:00
#SBATCH --requeue --open-mode=append
#SBATCH --signal=B:USR1@120
#SBATCH --export=PATH,HOME,PIBENCH_CACHE,PIBENCH_KEYS
#SBATCH --chdir="{{ here_plain }}"
#SBATCH --output="{{ log_plain }}/%x-%A_%a.log"
set -uo pipefail
host={{ host }}
out={{ out }}
log={{ log }}
export PIBENCH_PARTS={{ parts }}

read_keys() {
    keys=${PIBENCH_KEYS:-$HOME/.config/pibench-host/keys}
    if [ ! -e "$keys" ]; then
        [ -z "${PIBENCH_KEYS:-}" ] || { echo "error: PIBENCH_KEYS names $keys, and there is no such file here" >&2; exit 3; }
        return
    fi
    case $(stat -Lc %a "$keys") in
        *00) ;;
        *) echo "error: others can read $keys: chmod 600 it" >&2; exit 3 ;;
    esac
    while IFS= read -r line || [ -n "$line" ]; do
        case $line in ""|\#*) continue ;; esac
        name=${line%%=*}
        case $name in
            "$line"|""|[0-9]*|*[!A-Za-z0-9_]*) echo "error: a line of $keys is not NAME=value" >&2; exit 3 ;;
        esac
        export "$name=${line#*=}"
    done < "$keys"
}

# The host ends within two minutes of the signal that its time is over; then the task is handed in again, and goes on.
part() {
    read_keys
    restarts=${SLURM_RESTART_COUNT:-0} told=
    echo "$(date -u +%FT%TZ) part $SLURM_ARRAY_TASK_ID of $PIBENCH_PARTS on ${SLURMD_NODENAME:-?}, start $((restarts + 1))"
    "$host" run --shard auto --out "$out" --grace 110{% for option in options %} {{ option }}{% endfor %} &
    child=$!
    trap 'told=1; kill -USR1 $child' USR1
    trap 'kill -TERM $child' TERM
    # A signal ends the wait and not what is waited for.
    for _ in 1 2 3 4; do
        wait "$child"
        code=$?
        case $code in 138|143) ;; *) break ;; esac
    done
    echo "$(date -u +%FT%TZ) part $SLURM_ARRAY_TASK_ID: exit code $code"
    case $code in
        # Played to its end, whatever broke in it.
        0|5|8|9) exit 0 ;;
        # Something outside broke; or the folder is locked, perhaps by what is left on a lost node.
        4|6) again ;;
        # The time is over. Whoever cancels a task does not want it again.
        130) [ -n "$told" ] && again ;;
    esac
    exit "$code"
}

again() {
    [ "$restarts" -lt 100 ] || exit "$code"
    # Not at once what failed at once.
    [ "$code" = 130 ] || sleep 10
    scontrol requeue "${SLURM_ARRAY_JOB_ID}_$SLURM_ARRAY_TASK_ID"
    # This ends the script.
    sleep 60
}

merge() {
    read_keys
    code=0
    "$host" merge "$out" || code=$?
    case $code in 0|5|8|9) ;; *) exit "$code" ;; esac
    "$host" verify "$out/run" || exit
}

case ${1:-} in
    part) part ;;
    merge) merge ;;
    "")
        mkdir -p "$log" || exit
        array=$(sbatch --parsable --array=1-$PIBENCH_PARTS{% if at_once %}%{{ at_once }}{% endif %} "$0" part) || exit
        # Whether all went well or not: what is missing is told by it.
        merge=$(sbatch --parsable --dependency="afterany:$array" "$0" merge) || exit
        echo "$array $merge" ;;
    *) echo "usage: bash $0, or sbatch --array=I,... $0 part" >&2; exit 2 ;;
esac

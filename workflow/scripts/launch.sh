#!/usr/bin/env bash
# launch.sh LOG GPUS NODES ARGUMENT...: python -m transformer ARGUMENT..., whose output goes to LOG, too; on several GPUs
# a process for each, started by torchrun, which srun starts on each of several nodes.
set -euo pipefail
log=$1 gpus=$2 nodes=$3
shift 3

if ((nodes > 1)); then
    start=(srun --nodes "$nodes" --ntasks "$nodes" --ntasks-per-node 1 --kill-on-bad-exit=1 bash -c '
        exec torchrun --nnodes "$SLURM_NNODES" --nproc-per-node "$0" --rdzv-id "$SLURM_JOB_ID" --rdzv-backend c10d \
            --rdzv-endpoint "$SLURM_LAUNCH_NODE_IPADDR:$((20000 + SLURM_JOB_ID % 10000))" \
            --rdzv-conf "is_host=$((SLURM_NODEID == 0))" "$@"' "$((gpus / nodes))")
elif ((gpus > 1)); then
    start=(torchrun --standalone --nproc-per-node "$gpus")
else
    start=(python)
fi

# At a job's time limit Slurm sends SIGTERM to every process of it. The training saves and ends; the shell waits for it,
# and tee passes on its last words.
trap : TERM
"${start[@]}" -m transformer "$@" 2>&1 | (trap '' INT TERM && exec tee "$log")

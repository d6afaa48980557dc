#!/usr/bin/env bash
# launch.sh LOG GPUS NODES ARGUMENT...: python -m transformer ARGUMENT..., what it prints goes to LOG, too. For several
# GPUs torchrun starts a process for each; on several nodes of Slurm srun starts torchrun on each.
set -euo pipefail
log=$1 gpus=$2 nodes=$3
shift 3

# Slurm tells each node what it needs to meet the others: on the one that called srun, a port by the number of the job.
# shellcheck disable=SC2016
on_node='exec torchrun --nnodes "$SLURM_NNODES" --nproc-per-node "$SLURM_GPUS_ON_NODE" --rdzv-id "$SLURM_JOB_ID" \
    --rdzv-backend c10d --rdzv-endpoint "$SLURM_LAUNCH_NODE_IPADDR:$((20000 + SLURM_JOB_ID % 10000))" \
    --rdzv-conf "is_host=$((SLURM_NODEID == 0))" "$@"'

if ((nodes > 1)); then
    start=(srun --nodes "$nodes" --ntasks "$nodes" --ntasks-per-node 1 --cpu-bind none --kill-on-bad-exit=1
        bash -c "$on_node" torchrun)
elif ((gpus > 1)); then
    start=(torchrun --standalone --nproc-per-node "$gpus")
else
    start=(python)
fi

# At a job's time limit every process of it gets SIGTERM, or what --signal names. The training saves and ends; this shell
# waits for it, and tee passes on its last words.
trap : HUP TERM USR1 USR2 XCPU
"${start[@]}" -m transformer "$@" 2>&1 | (trap '' INT HUP TERM USR1 USR2 XCPU && exec tee "$log")

#!/bin/sh
# status.sh NUMBER: how a job of Slurm is, in the words of Snakemake's executor cluster-generic.
case $(squeue --noheader --states=all --format=%T --jobs "$1" 2>&1) in
    COMPLETED) echo success ;;
    BOOT_FAIL | CANCELLED | DEADLINE | FAILED | NODE_FAIL | OUT_OF_MEMORY | PREEMPTED | TIMEOUT | *"Invalid job id"*) echo failed ;;
    *) echo running ;;
esac

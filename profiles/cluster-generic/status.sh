#!/bin/sh
# status.sh NUMBER: print the status of a Slurm job, in the words that Snakemake's executor cluster-generic expects.
case $(squeue --noheader --states=all --format=%T --jobs "$1" 2>&1) in
    COMPLETED) echo success ;;
    BOOT_FAIL | CANCELLED | DEADLINE | FAILED | NODE_FAIL | OUT_OF_MEMORY | PREEMPTED | TIMEOUT | *"Invalid job id"*) echo failed ;;
    *) echo running ;;
esac

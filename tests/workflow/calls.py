"""Calls of snakemake in a small project."""

import subprocess
import sys
from pathlib import Path

SMOKE = ("--configfile", "smoke.yaml", "fetched.yaml")


def snakemake(folder, *arguments):
    environment = {"PATH": f"{Path(sys.executable).parent}:/usr/bin:/bin", "HOME": str(folder), "OMP_NUM_THREADS": "1"}
    return subprocess.run(
        ["snakemake", "--cores", "2", *arguments],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        timeout=600,
    )


def jobs(run):
    """Rule -> the number of its jobs that a call of snakemake lists."""
    lines = map(str.split, (run.stdout + run.stderr).splitlines())
    return {line[0]: line[1] for line in lines if len(line) == 2 and line[1].isdigit()}

"""Calls of snakemake in a small project."""

import re
import subprocess

from tests import forks

SMOKE = ("--configfile", "smoke.yaml", "fetched.yaml")


def snakemake(folder, *arguments, status=0):
    """Call it as one does without an active environment: its jobs then find their Python by themselves.

    It must end with the given status, 1 for an error, and print no traceback.
    """
    environment = {"PATH": "/usr/bin:/bin", "HOME": str(folder), "OMP_NUM_THREADS": "1"}
    run = subprocess.run(
        [forks.folder() / "snakemake", "--cores", "2", *arguments],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        timeout=600,
    )
    assert run.returncode == status, run.stdout[-3000:] + run.stderr[-3000:]
    assert "Traceback" not in run.stdout + run.stderr
    return run


def touch_treebank(folder, sections=range(25)):
    """Files of sections of the Penn Treebank, without trees."""
    for section in sections:
        path = folder / f"{section:02}/wsj_{section:02}00.mrg"
        path.parent.mkdir(parents=True)
        path.touch()


def jobs(run):
    """Rule -> the number of its jobs, which snakemake lists in a table or, when it runs them, in a line."""
    lines = (run.stdout + run.stderr).splitlines()
    [counts] = [line.partition(": ")[2].split(", ") for line in lines if re.match(r"\d+ jobs?: ", line)] or [lines]
    return {line.split()[0]: line.split()[1] for line in counts if re.fullmatch(r"\w+ +\d+", line)}

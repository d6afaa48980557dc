import os
import shutil
import subprocess

import pytest
from slurm import PACKAGES, Slurm


@pytest.fixture(scope="session")
def slurm(tmp_path_factory):
    """A Slurm that runs; it is installed if need be."""
    missing = [package for program, package in PACKAGES.items() if not shutil.which(program, path="/usr/sbin:/usr/bin")]
    if missing and (os.geteuid() or not shutil.which("apt-get")):
        pytest.skip(f"as root: apt-get install --no-install-recommends {' '.join(missing)}")
    if missing:
        for command in (["update"], ["install", "--yes", "--no-install-recommends", *missing]):
            subprocess.run(["apt-get", "--quiet", *command], check=True)
    slurm = Slurm(tmp_path_factory.mktemp("slurm"))
    try:
        slurm.start()
        yield slurm
    finally:
        slurm.stop()

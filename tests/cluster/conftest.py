import os
import shutil
import subprocess

import pytest
from slurm import PACKAGES, Slurm


def installed(packages):
    """Whether apt-get can install some packages."""
    commands = (["update"], ["install", "--yes", "--no-install-recommends", *packages])
    return all(subprocess.run(["apt-get", "--quiet", *command]).returncode == 0 for command in commands)


@pytest.fixture(scope="session")
def slurm(tmp_path_factory):
    """A running Slurm. It is installed if necessary."""
    missing = [package for program, package in PACKAGES.items() if not shutil.which(program, path="/usr/sbin:/usr/bin")]
    if missing and not (os.geteuid() == 0 and shutil.which("apt-get") and installed(missing)):
        pytest.skip(f"Slurm is missing; as root, where it works: apt-get install {' '.join(missing)}")
    slurm = Slurm(tmp_path_factory.mktemp("slurm"))
    try:
        slurm.start()
        yield slurm
    finally:
        slurm.stop()

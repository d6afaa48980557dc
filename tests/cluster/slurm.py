"""A real Slurm on the loopback interface, in its own folder: a controller and two nodes, each with four fake GPUs."""

import contextlib
import os
import pwd
import shutil
import signal
import socket
import string
import subprocess
import sys
import time
from pathlib import Path

NODES = ("n1", "n2")
PACKAGES = {"munged": "munge", "slurmctld": "slurmctld", "slurmd": "slurmd", "srun": "slurm-client"}


def wait_until(true, seconds, what):
    end = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < end, f"not within {seconds} s: {what}"
        time.sleep(0.2)


def free_ports(count):
    with contextlib.ExitStack() as held:
        sockets = [held.enter_context(socket.create_server(("127.0.0.1", 0))) for _ in range(count)]
        return [each.getsockname()[1] for each in sockets]


class Slurm:
    """A Slurm. SLURM_CONF in the environment identifies the daemons and jobs that it starts."""

    def __init__(self, folder):
        self.folder, self.conf, self.daemons = folder, folder / "slurm.conf", {}
        self.user = pwd.getpwuid(os.geteuid()).pw_name
        self.environment = {
            "PATH": f"{folder}/bin:{Path(sys.executable).parent}:/usr/sbin:/usr/bin:/sbin:/bin",
            "HOME": str(folder),
            "SLURM_CONF": str(self.conf),
        }
        for name in ("bin", "state", *NODES):
            (folder / name).mkdir()
        ports = dict(zip(("controller", *NODES), free_ports(1 + len(NODES)), strict=True))
        template = string.Template((Path(__file__).parent / "slurm.conf").read_text())
        self.conf.write_text(template.substitute(ports, folder=folder, user=self.user))
        for number in range(4):  # a GPU's device file has a name that ends in its number
            (folder / f"gpu{number}").symlink_to("/dev/null")
        (folder / "gres.conf").write_text(f"NodeName=n[1-2] Name=gpu File={folder}/gpu[0-3]\n")
        (folder / "cgroup.conf").write_text("CgroupPlugin=cgroup/v1\n")  # Slurm reads it although nothing uses it
        # Snakemake removes SLURM_CONF from the environment of the srun that it starts in a job.
        srun = folder / "bin/srun"
        srun.write_text(f'#!/bin/sh\nSLURM_CONF={self.conf} exec {self.which("srun")} "$@"\n')
        srun.chmod(0o755)
        key = folder / "munge.key"
        key.touch(0o600)
        key.write_bytes(os.urandom(128))

    def which(self, program):
        return shutil.which(program, path=self.environment["PATH"])

    def start(self):
        files = {name: self.folder / f"munge.{name}" for name in ("socket", "pid", "seed", "log")}
        names = {"key-file": self.folder / "munge.key", "socket": files["socket"], "pid-file": files["pid"]}
        names |= {"seed-file": files["seed"], "log-file": files["log"]}
        self.daemon("munged", "--foreground", "--force", *(f"--{name}={path}" for name, path in names.items()))
        wait_until(files["socket"].exists, 10, "munged")
        self.daemon("slurmctld", "-D")
        for node in NODES:
            self.start_node(node)
        wait_until(lambda: self("sinfo", "--noheader", "--states=idle", "--format=%D", check=False) == "2", 30, "nodes")

    def daemon(self, *command, name=None):
        name = name or command[0]
        with (self.folder / f"{name}.out").open("ab") as output:
            self.daemons[name] = subprocess.Popen(
                [self.which(command[0]), *command[1:]], env=self.environment, stdout=output, stderr=output
            )

    def __call__(self, *command, check=True):
        """The output of a command."""
        run = subprocess.run(command, env=self.environment, capture_output=True, text=True, timeout=60)
        assert not check or run.returncode == 0, run.stderr
        return run.stdout.strip()

    def jobs(self):
        """The running jobs: the executor's comment -> number, node."""
        lines = self("squeue", "--noheader", "--states=running", "--format=%k|%i|%N").splitlines()
        return {what: (job, node) for what, job, node in (line.split("|") for line in lines)}

    def start_node(self, node):
        self.environment["SLURM_TEST_NODE"] = node
        self.daemon("slurmd", "-D", "-N", node, name=node)
        del self.environment["SLURM_TEST_NODE"]

    def kill_node(self, node):
        """Kill everything that runs on a node at once, as in a power failure."""
        for name in ("SLURM_TEST_NODE", "SLURMD_NODENAME"):
            for process in self.processes(f"{name}={node}"):
                with contextlib.suppress(ProcessLookupError):
                    os.kill(process, signal.SIGKILL)
        self.daemons.pop(node).wait()

    def processes(self, *variables):
        """The processes with SLURM_CONF and these variables in their environment."""
        wanted = {variable.encode() for variable in (f"SLURM_CONF={self.conf}", *variables)}
        processes = []
        for path in Path("/proc").glob("[0-9]*/environ"):
            with contextlib.suppress(OSError):
                if wanted <= set(path.read_bytes().split(b"\0")):
                    processes.append(int(path.parent.name))
        return processes

    def stop(self):
        """End all daemons and jobs. One that does not end is killed, and is an error."""
        if "slurmctld" in self.daemons:
            self("scancel", f"--user={self.user}", check=False)
            with contextlib.suppress(AssertionError):
                wait_until(lambda: not self("squeue", "--noheader", check=False), 20, "jobs end")
        for daemon in reversed(self.daemons.values()):
            daemon.terminate()
            daemon.wait(timeout=20)
        try:
            wait_until(lambda: not self.processes(), 60, "all processes end")
        finally:
            for process in self.processes():
                os.kill(process, signal.SIGKILL)

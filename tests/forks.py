"""A `python`, a `snakemake` and a `torchrun` that start at once: copies of a process that has loaded what they import.

A run of the workflow starts hundreds of processes, and each would load the same packages for two seconds. No module of
the project is loaded in advance, so a copy of the project uses its own.
"""

import atexit
import contextlib
import functools
import gc
import importlib
import json
import os
import runpy
import shlex
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import traceback
from pathlib import Path

PACKAGES = """
    jinja2 matplotlib.pyplot nltk numpy pandas pydantic requests sacrebleu sacremoses safetensors.torch scipy.stats
    sentencepiece snakemake.cli snakemake.report snakemake.script tabulate torch torch.distributed.run
    torch.utils.flop_counter yte
"""
PROGRAMS = {"python": "", "snakemake": "-m snakemake", "torchrun": "-m torch.distributed.run"}
# The programs hand their arguments, their environment and their streams to the server, which says when they have ended.
CLIENT = """
import json, os, signal, socket, sys
server = socket.socket(socket.AF_UNIX)
server.connect(sys.argv[1])
socket.send_fds(server, [b"3"], [0, 1, 2])
server.sendall(json.dumps([sys.argv[2:], os.getcwd(), dict(os.environ)]).encode())
server.shutdown(socket.SHUT_WR)
process = int(server.recv(20))
signal.signal(signal.SIGTERM, lambda *_: os.kill(process, signal.SIGTERM))
sys.exit(int(server.recv(20)))
"""


@functools.cache
def folder() -> Path:
    """A folder for PATH with the programs. Their server ends with this process."""
    made = tempfile.TemporaryDirectory()
    atexit.register(made.cleanup)
    address, client = f"{made.name}/socket", Path(made.name, "client.py")
    client.write_text(CLIENT)
    call = shlex.join([sys.executable, "-IS", str(client), address])
    for name, words in PROGRAMS.items():
        program = Path(made.name, name)
        program.write_text(f'#!/bin/sh\nexec {call} {words} "$@"\n')
        program.chmod(0o755)
    variables = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    variables |= {"OMP_NUM_THREADS": "1", "PYTHONUTF8": "1"}
    server = subprocess.Popen([sys.executable, "-P", __file__, address], env=variables, stdout=subprocess.PIPE)
    atexit.register(server.kill)
    server.stdout.readline()  # it listens
    return Path(made.name)


def accepted(address: str) -> list:
    """Serve clients. Returns only in the copies of this process: the words, folder and variables of a client's call."""
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(address)
        listener.listen(100)
        listener.settimeout(30)
        signal.signal(signal.SIGCHLD, signal.SIG_IGN)
        parent = os.getppid()
        os.write(1, b"ready\n")
        while os.getppid() == parent:  # pytest may be killed
            with contextlib.suppress(TimeoutError):
                client, _ = listener.accept()
                if os.fork() == 0:
                    break
                client.close()
        else:
            os._exit(0)
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    _, streams, *_ = socket.recv_fds(client, 1, 3)
    call = json.loads(b"".join(iter(lambda: client.recv(1 << 20), b"")))
    if process := os.fork():
        for stream in streams:
            os.close(stream)
        client.sendall(str(process).encode())
        status = os.waitstatus_to_exitcode(os.waitpid(process, 0)[1])
        client.sendall(str(status % 256).encode())
        os._exit(0)
    client.close()
    for number, stream in enumerate(streams):
        os.dup2(stream, number)
        os.close(stream)
    return call


def start(words: list[str], variables: dict[str, str], path: list[str]) -> int | str | None:
    """Run the module, the code or the file that a client's words name; returns with what it exits."""
    words = words[words[0] == "-u" :]
    folder = Path.cwd() if words[0].startswith("-") else Path(words[0]).parent
    own = [] if "PYTHONSAFEPATH" in variables else [str(folder)]
    sys.path[:] = [*own, *filter(None, variables.get("PYTHONPATH", "").split(":")), *path]
    sys.argv = words[words[0] == "-m" :]
    try:
        if words[0] == "-m":
            runpy.run_module(words[1], run_name="__main__", alter_sys=True)
        elif words[0] == "-c":
            exec(sys.argv.pop(1), {"__name__": "__main__"})
        else:
            runpy.run_path(words[0], run_name="__main__")
    except SystemExit as end:
        return end.code
    except BaseException:
        traceback.print_exc()
        return 1


def main(address: str) -> None:
    """Load the packages; then be the Python that a client has started."""
    path = sys.path[:]
    for package in PACKAGES.split():
        importlib.import_module(package)
    gc.freeze()
    words, folder, variables = accepted(address)
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(variables)
    sys.executable = str(Path(address).with_name("python"))
    status = start(words, variables, path)
    if isinstance(status, str):
        status = print(status, file=sys.stderr) or 1
    threading._shutdown()
    atexit._run_exitfuncs()
    with contextlib.suppress(ValueError):  # it is closed
        sys.stdout.flush()
    os._exit(status or 0)  # to free all modules one by one would take longer than most jobs


if __name__ == "__main__":
    main(sys.argv[1])

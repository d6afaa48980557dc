"""Helpers of the commands' tests: command lines, run in this process or in another, and files."""

import os
import signal
import subprocess
import sys
from pathlib import Path

CORPUS = {"corpus": "toy", "licence": "CC0", "description": "random words", "source": "en", "target": "de"}
CORPUS["pairs"] = {"train": 200, "dev": 8}


def arguments(command, *positional, **options):
    """A command line. Keywords become options; those that are True have no value."""
    line = [command]
    for name, value in {**options, "threads": 1}.items():
        values = [] if value is True else value if isinstance(value, list) else [value]
        line += [f"--{name.replace('_', '-')}", *map(str, values)]
    return [*line, "--", *positional] if positional else line


def in_a_process(line, **options):
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "PYTHONPATH": str(Path(__file__).parents[2])}
    options["preexec_fn"] = lambda: signal.signal(signal.SIGINT, signal.SIG_DFL)  # a background process ignores SIGINT
    return subprocess.Popen([sys.executable, "-m", "transformer", *line], env=environment, text=True, **options)

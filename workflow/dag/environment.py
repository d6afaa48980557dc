"""The clone's folder and the environment of processes. It imports only the standard library.

`make` checks the folder before anything is installed: python3 -I workflow/dag/environment.py
"""

import getpass
import os
import re
import shlex
import sys
from importlib.machinery import PathFinder
from pathlib import Path

PYTHON = Path(sys.executable)
OWN = {"transformer", "workflow", "benchmarks", "tests"}  # the project's modules


def fault_of(clone: Path) -> str | None:
    """What is wrong with the clone's folder, and the remedy. None if nothing is."""
    # `:` separates folders in lists, Snakemake takes braces for wildcards, and its log is in UTF-8.
    for folder, odd in ((clone, "[:{}\n\ud800-\udfff]"), (Path.cwd(), "[\ud800-\udfff]")):
        if found := re.search(odd, str(folder)):
            return f"{str(folder)!r}: the project cannot be used in a folder whose path has {found[0]!r}; rename it"
    # Python finds a module in the clone before one of its own with the same name.
    others = [folder for folder in sys.path if folder and not _same(folder, clone)]
    for path in sorted(clone.iterdir()):
        module = path.suffix == ".py" or (path / "__init__.py").exists()
        if module and path.stem not in OWN and PathFinder.find_spec(path.stem, others):
            return f"{path} would be used in place of Python's module {path.stem}; rename it or move it elsewhere"
    return None


def _same(folder: str, clone: Path) -> bool:
    return Path(folder).exists() and clone.samefile(folder)


def command_prefix(clone: Path, mirror: str | None, *, own_python: bool, silent: bool) -> str:
    """What bash runs before the command of a job.

    Jobs look for modules in the clone first, and never in the working folder. With `own_python`, `python` is this
    Python, whichever environment is active and whatever BASH_ENV does. With `silent`, standard output is dropped.
    """
    commands = ["set -euo pipefail", *["exec > /dev/null"] * silent]
    modules = f"PYTHONPATH={shlex.quote(str(clone))}${{PYTHONPATH:+:$PYTHONPATH}}"
    commands.append(f"export PYTHONUTF8=1 PYTHONSAFEPATH=1 TRANSFORMER_TRUST_CODE=1 {modules}")
    commands.append(f"export LAUNCH={shlex.quote(f'{clone}/workflow/jobs/launch.sh')}")
    if own_python:
        commands.append(f"unset BASH_ENV; unset -f python torchrun; PATH={shlex.quote(str(PYTHON.parent))}:$PATH")
    if mirror:
        commands.append(f"export TRANSFORMER_MIRROR={shlex.quote(mirror)}")
    return "".join(f"{command}; " for command in commands)


def complete() -> None:
    """Set the variables without which Snakemake fails: PATH, a user's name, and a folder for its cache."""
    os.environ.setdefault("PATH", os.defpath)
    try:
        getpass.getuser()
    except (KeyError, OSError):  # no entry for this user in the system's list
        os.environ["USER"] = str(os.getuid())
    try:
        cache = Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache", "snakemake").expanduser()
        cache.mkdir(parents=True, exist_ok=True)
        usable = os.access(cache, os.W_OK)
    except (OSError, RuntimeError):  # RuntimeError: this user has no home
        usable = False
    if not usable:
        os.environ["XDG_CACHE_HOME"] = str(Path(".snakemake/cache").absolute())


if __name__ == "__main__":
    sys.exit(fault_of(Path.cwd()))

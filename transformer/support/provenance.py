"""What a run is trained with: the commit of this code, and the versions of the software that affects numbers."""

import platform
import subprocess
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import torch

PACKAGES = ("numpy", "sentencepiece", "sacrebleu", "snakemake")
ROOT = Path(__file__).parents[2]


def software() -> dict[str, str]:
    """The commit and the versions, by name. Packages that are not installed are left out."""
    versions = {"commit": commit(ROOT), "python": platform.python_version(), "torch": str(torch.__version__)}
    for name in PACKAGES:
        try:
            versions[name] = version(name)
        except PackageNotFoundError:
            continue
    return versions


def commit(folder: Path) -> str:
    """The commit of the work tree `folder`, with `-dirty` if tracked files have changed; `unknown` without git.

    What no training reads does not count: files of `results`, where another folder may be mounted, and the ledger.
    """
    head = _git(folder, "rev-parse", "--verify", "HEAD")
    changed = _git(folder, "status", "--porcelain", "--untracked-files=no", "--", ":!results", ":!ideas/ledger.csv")
    return f"{head}-dirty" if changed else head or "unknown"


def changed_code() -> list[str]:
    """The tracked files of code that differ from the last commit. Empty without git."""
    return _git(ROOT, "diff", "--name-only", "HEAD", "--", "transformer", "workflow").splitlines()


def _git(folder: Path, *words: str) -> str:
    """What git prints; empty without git."""
    # All options are given, so that git does not use the repository of a parent folder.
    git = ("git", "-C", str(folder), "--git-dir=.git", "--work-tree=.")
    try:
        return subprocess.run((*git, *words), capture_output=True, text=True).stdout.strip()
    except OSError:
        return ""

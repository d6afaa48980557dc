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
    """The commit of the work tree `folder`, with `-dirty` if tracked files have changed; `unknown` without git."""
    return _git(folder, "describe", "--always", "--dirty", "--exclude=*", "--abbrev=40") or "unknown"


def changed_code() -> list[str]:
    """The tracked files of code that differ from the last commit. Empty without git."""
    return _git(ROOT, "diff", "--name-only", "HEAD", "--", "transformer", "workflow").splitlines()


def _git(folder: Path, *arguments: str) -> str:
    # Both options are given, so that git does not use the repository of a parent folder.
    git = ("git", f"--git-dir={folder / '.git'}", f"--work-tree={folder}")
    try:
        return subprocess.run((*git, *arguments), cwd=folder, capture_output=True, text=True).stdout.strip()
    except OSError:
        return ""

"""With what a run is trained: the commit of this code, and versions of what decides numbers."""

import hashlib
import platform
import subprocess
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import torch

PACKAGES = ("numpy", "sentencepiece", "sacrebleu", "snakemake")
ROOT = Path(__file__).parents[2]


def software() -> dict[str, str]:
    """The commit and the versions by name; packages that are not installed are left out."""
    found = {"commit": commit(ROOT), "python": platform.python_version(), "torch": str(torch.__version__)}
    for name in PACKAGES:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    return found


def commit(folder: Path) -> str:
    """The commit of a folder's work tree, with -dirty when files that git tracks have changed; else `unknown`."""
    git = ("git", f"--git-dir={folder / '.git'}", f"--work-tree={folder}")  # not the repository of a folder above
    try:
        described = subprocess.run(
            (*git, "describe", "--always", "--dirty", "--exclude=*", "--abbrev=40"), capture_output=True, text=True
        )
    except OSError:
        return "unknown"
    return described.stdout.strip() or "unknown"


def code(*folders: str) -> str:
    """The SHA-256 of the modules in some folders of this package."""
    content = hashlib.sha256()
    for path in sorted(path for folder in folders for path in (ROOT / "transformer" / folder).glob("*.py")):
        content.update(f"{path.parent.name}/{path.name}\n".encode() + path.read_bytes())
    return content.hexdigest()

"""Pages whose diffs apply to a copy of the project, and whose commands succeed there."""

import os
import re
import subprocess
from pathlib import Path

from tests import forks

ROOT = Path(__file__).parents[1]


def sections(page, heading):
    """The diffs and commands of each section below a heading of a page, in order: name -> (diff or sh, text)."""
    text = (ROOT / page).read_text().partition(f"\n## {heading}\n")[2].partition("\n## ")[0]
    return {
        name: re.findall(r"^```(diff|sh)\n(.*?)^```$", section, re.MULTILINE | re.DOTALL)
        for name, section in re.findall(r"^### (.*?)\n(.*?)(?=^### |\Z)", text, re.MULTILINE | re.DOTALL)
    }


def run(command, folder, text=None):
    """What a command prints in a folder."""
    environment = {**os.environ, "PATH": f"{forks.folder()}:{os.environ['PATH']}"}
    done = subprocess.run(command, cwd=folder, env=environment, input=text, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def follow(steps, folder):
    """Apply the diffs and run the commands of a section in a copy of the project; returns what they print."""
    printed = ""
    for kind, text in steps:
        if kind == "diff":
            run(["git", "apply", "-"], folder, text)
        else:
            printed += run(["bash", "-euo", "pipefail", "-c", text], folder)
    return printed

"""Where commands find programs."""

import os
from pathlib import Path


def find_first_in(folder: Path) -> None:
    """Let this process and those that it starts find programs in this folder before all others."""
    os.environ["PATH"] = os.pathsep.join([str(folder.absolute()), os.environ["PATH"]])

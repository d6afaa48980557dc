"""Where commands find programs."""

import os
from pathlib import Path


def find_first_in(folder: Path) -> None:
    """Let this process and those that it starts find programs in this folder before all others.

    Each bash would run the file that BASH_ENV names, and it may change PATH. Exported functions of bash hide programs.
    """
    os.environ["PATH"] = os.pathsep.join([str(folder.absolute()), os.environ["PATH"]])
    for name in ("BASH_ENV", *(f"BASH_FUNC_{program.name}%%" for program in folder.iterdir())):
        os.environ.pop(name, None)

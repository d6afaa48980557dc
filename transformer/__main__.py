"""`python -m transformer`."""

import os
import sys

if sys.version_info < (3, 11):  # noqa: UP036 - before an import that it could not read
    sys.exit("transformer: Python 3.11 or later is needed; activate the environment: . .venv/bin/activate")


def _elsewhere(folder: str) -> bool:
    folder = folder or "."
    return not (os.path.exists(folder) and os.path.samefile(folder, "."))


# Neither this process nor its workers look for modules in the working folder: a user may have a numpy.py there.
if _elsewhere(os.path.dirname(os.path.dirname(__file__))):
    sys.path[:] = filter(_elsewhere, sys.path)
    os.environ["PYTHONPATH"] = ":".join(filter(_elsewhere, os.environ.get("PYTHONPATH", "").split(":")))

from transformer.cli.main import run

if __name__ == "__main__":
    run()

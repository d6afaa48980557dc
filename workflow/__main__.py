"""`python -m workflow`."""

import transformer.__main__  # noqa: F401 - checks the version of Python, and leaves out the working folder
from transformer.cli.main import run
from workflow.cli import plan

run("workflow", (plan,))

"""Write a resolved config to a file, so that a stage runs again if its content changes."""

from pathlib import Path
from typing import Any

from transformer.support.strict import as_yaml
from workflow.jobs.job import run


def main(job: Any) -> None:
    """Write the config that a job has as a parameter."""
    Path(job.output[0]).write_text(as_yaml(job.params.config), "utf-8")


run(main, globals())

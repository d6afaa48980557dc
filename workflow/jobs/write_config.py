"""Write a resolved config to a file, so that a stage runs again if its content changes."""

from pathlib import Path
from typing import Any

from transformer.support.strict import write_config
from workflow.jobs.job import run


def main(job: Any) -> None:
    """Write the config that a job has as a parameter."""
    write_config(Path(job.output[0]), job.params.config)


run(main, globals())

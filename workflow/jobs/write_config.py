"""Write a resolved config to a file, so that a stage runs again if its content changes."""

from pathlib import Path
from typing import Any

import yaml

from workflow.jobs.job import run


def main(job: Any) -> None:
    """Write the config that a job has as a parameter."""
    Path(job.output[0]).write_text(yaml.safe_dump(job.params.config, sort_keys=False, allow_unicode=True), "utf-8")


run(main, globals())

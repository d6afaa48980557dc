"""Remove the states of finished trainings whose packages are scored: nothing needs them any more."""

import shutil
from pathlib import Path
from typing import Any

from workflow.jobs.job import run


def main(job: Any) -> None:
    """Remove those of a job's packages. Interrupted trainings keep theirs. A folder that cannot be removed stays."""
    for state in (Path(config).parents[2] / "state" for config in job.input.packages):
        if (state / "finished.json").exists():
            shutil.rmtree(state, ignore_errors=True)


run(main, globals())

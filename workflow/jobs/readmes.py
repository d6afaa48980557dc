"""README.md of each package with its training and its scores, unless the package is without weights (rule `scores`)."""

from pathlib import Path
from typing import Any

from transformer.evaluation.score import scores_in_words
from transformer.package.config import read_package_config
from transformer.package.readme import write_readme
from workflow.jobs.job import run


def main(job: Any) -> None:
    """Write those of a job's packages."""
    for package in (Path(config).parent for config in job.input.packages):
        if not (package / "model.safetensors").exists():
            continue
        scores = [path for path in map(Path, job.input.scores) if path.parent == package.parent]
        config = read_package_config(package)
        write_readme(package, config, list(scores_in_words(package, config, scores)))


run(main, globals())

"""Make the table or the figures of a rule, as their room declares (workflow/results)."""

from importlib import import_module
from typing import Any

from workflow.jobs.job import run


def main(job: Any) -> None:
    """Make the result of the room that has the name of the rule."""
    results = import_module(f"workflow.results.{job.params.room}").RESULTS
    next(result for result in results if result.rule == job.params.result).make(job)


run(main, globals())

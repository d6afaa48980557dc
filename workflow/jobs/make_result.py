"""Make the table or the figures of a rule, as their room declares (workflow/results)."""

from importlib import import_module

from workflow.jobs.job import run
from workflow.results.common.plan import Job


def main(job: Job) -> None:
    """Make the result of the room that has the name of the rule."""
    results = import_module(f"workflow.results.{job.params.room}").RESULTS
    next(result for result in results if result.rule == job.params.result).make(job)


run(main, globals())

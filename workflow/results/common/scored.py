"""What a table of scores reads, and which rows of the paper it shows."""

from typing import Any

import pandas as pd

from workflow.results.common.notes import run_note, score_notes
from workflow.results.common.overfitting import overfitting_notes
from workflow.results.common.plan import Job
from workflow.results.common.provenance import difference_notes
from workflow.results.common.records import Ours, read_json, read_runs, read_trained, read_yaml


def read_inputs(job: Job) -> tuple[dict[str, Any], pd.DataFrame, list[str]]:
    """The paper's numbers, the runs, and the notes that a reader needs to compare them."""
    comparisons = getattr(job.input, "comparisons", ())
    runs = read_runs(job.input.scores, job.input.packages, job.params.equal, comparisons)
    notes = [*job.params.notes, *run_note(runs), *score_notes(map(read_json, job.input.scores))]
    notes += difference_notes(read_trained(job.input.packages).values())
    notes += overfitting_notes(getattr(job.input, "histories", ()), job.params.equal)
    return read_yaml(job.input.published), runs, notes


def is_shown(job: Job, ours: Ours, task: str, model: str | None) -> bool:
    """Whether the table has this row of the paper: it is run, or its task is shown in full."""
    return task in job.params.in_full or (task, model) in ours

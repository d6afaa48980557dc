"""What a table of scores reads, and which rows of the paper it shows."""

from typing import Any

import pandas as pd

from workflow.results.common.notes import corpus_note, run_notes, score_notes, seed_notes
from workflow.results.common.plan import Job
from workflow.results.common.provenance import difference_notes
from workflow.results.common.records import Ours, read_json, read_runs, read_trained, read_yaml


def read_inputs(job: Job, which: str = "") -> tuple[dict[str, Any], pd.DataFrame, list[str], list[str]]:
    """The paper's numbers, the runs, the notes that a reader needs to compare, and what our numbers are made of.

    `which` tells the rows that are scored so, if not all are.
    """
    comparisons = getattr(job.input, "comparisons", ())
    runs = read_runs(job.input.scores, job.input.packages, job.params.equal, comparisons)
    notes = [*job.params.notes, *seed_notes(runs), *score_notes(map(read_json, job.input.scores))]
    made = [
        *map(corpus_note, map(read_json, job.input.corpora)),
        *run_notes(runs, which),
        *difference_notes(read_trained(job.input.packages).values()),
    ]
    return read_yaml(job.input.published), runs, notes, made


def is_shown(job: Job, ours: Ours, task: str, model: str | None) -> bool:
    """Whether the table has this row of the paper: it is run, or its task is shown in full."""
    return task in job.params.in_full or (task, model) in ours

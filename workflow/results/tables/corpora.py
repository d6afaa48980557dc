"""The corpora: the pairs that were read, the pairs that each cleaning step removed, and the pairs of each part."""

from collections.abc import Mapping
from typing import Any

from workflow.results.common.plan import Row
from workflow.results.common.records import read_json
from workflow.results.common.result import Content, Job, Plan, Selection, Table

CAPTION = """\
**The corpora.** For each task the table has the pairs that were read, the pairs that each cleaning step removed, in the
order of the steps, and the pairs of each part. Look for a step that removes more than you expect.
"""


def plan(selection: Selection) -> Plan:
    """The records of all corpora that are read."""
    tasks = list(selection.runs.trained)
    return Plan({"corpora": selection.runs.records(tasks)}, {"tasks": tasks})


def corpus_rows(task: str, corpus: Mapping[str, Any]) -> list[Row]:
    """A row for what was read, for each cleaning step, and for each part."""
    left = corpus["read"]
    counts = [("read", "", left)]
    for step, removed in corpus["removed"].items():
        left -= removed
        counts.append((step, f"{removed:,}", left))
    return [
        {
            ("Task", ""): task,
            ("Corpus", ""): corpus["corpus"],
            ("Step or part", ""): name,
            ("Pairs", "removed"): removed,
            ("Pairs", "left"): f"{pairs:,}",
        }
        for name, removed, pairs in [*counts, *((part, "", pairs) for part, pairs in corpus["pairs"].items())]
    ]


def content(job: Job) -> Content:
    """The table."""
    records = [read_json(path) for path in job.input.corpora]
    rows = [row for task, corpus in zip(job.params.tasks, records, strict=True) for row in corpus_rows(task, corpus)]
    return Content(rows, 3)


RESULTS = (
    Table(
        name="corpora",
        section="5.1",
        title="The corpora",
        detail="pairs read, removed by cleaning, and left",
        caption=CAPTION,
        plan=plan,
        content=content,
    ),
)

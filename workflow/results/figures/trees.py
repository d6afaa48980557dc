"""Parsed sentences of the test set, right and wrong ones, each beside its gold tree."""

from pathlib import Path

from transformer.support.files import read_lines
from transformer.trees.drawing import draw_examples
from workflow.results.common.figure import Figure
from workflow.results.common.result import Job, Plan, Selection
from workflow.results.tables.table4 import trees

CAPTION = """\
**Trees.** Test sentences with 5 to 15 words. Each has its number, its gold tree, and the tree of the first parser of
Table 4. In {task}, the first sentence that the parser gets right and the first two that it gets wrong are shown, as
far as there are such sentences; the parser is trained on {trained_on}.
Tags are left out. Labels in a frame are of constituents that only one of the two trees has: those of *gold* the parser
misses, and those of *ours* are wrong. Table 4 has the share of trees that are right as a whole.
"""


def draw(job: Job) -> list[str]:
    """The sentences with their trees."""
    return [draw_examples(read_lines(job.input.translations), Path(job.input.reference))]


def plan(selection: Selection) -> Plan | None:
    """The parses of the first task of Table 4, by its first parser, that is run."""
    if not (some := {task: rows for task, rows in selection.some("table4").items() if task in selection.runs.trained}):
        return None
    task = next(iter(some))
    scores = selection.runs.averaged_scores({task: some[task]})
    read = {
        "reference": f"{selection.runs.paths.corpus(task)}/test.trees",
        "translations": str(Path(scores[0]).with_name("test.translation")),
    }
    return Plan(read, {"task": task, "trained_on": trees(selection)[task]})


RESULTS = (
    Figure(
        name="trees",
        section="6.3",
        titles={"trees": "Parsed sentences and gold trees"},
        caption=CAPTION,
        plan=plan,
        draw=draw,
        kinds=("svg",),
        packed=False,  # treebanks are licensed
    ),
)

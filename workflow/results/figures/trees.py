"""Parsed sentences of the test set, right and wrong ones, each beside its gold tree."""

from pathlib import Path

from transformer.support.files import read_lines
from transformer.trees.drawing import draw_examples
from workflow.results.common.result import Figure, Plan, Selection

CAPTION = """\
**Trees.** Test sentences with 5 to 15 words. Each has its number, its gold tree, and the tree of the first parser of
Table 4. In {task}, the first sentence that the parser gets right and the first two that it gets wrong are shown, as
far as there are such sentences; the parser is trained on {trained_on}.
Tags are left out. Labels in a frame are of constituents that only one of the two trees has: those of *gold* the parser
misses, and those of *ours* are wrong. Table 4 has the share of trees that are right as a whole.
"""


def plan(selection: Selection) -> Plan | None:
    """The parses of the first task of Table 4, by its first parser, that is run."""
    some = {task: rows for task, rows in selection.some("table4").items() if task in selection.runs.trained}
    if not some:
        return None
    task = next(iter(some))
    scores = selection.runs.averaged_scores({task: some[task]})
    read = {
        "reference": f"{selection.runs.paths.corpus(task)}/test.trees",
        "translations": str(Path(scores[0]).with_name("test.translation")),
    }
    return Plan(read, {"task": task, "trained_on": selection.trees()[task]})


RESULTS = (
    Figure(
        name="trees",
        section="6.3",
        titles={"trees": "Parsed sentences and gold trees"},
        caption=CAPTION,
        plan=plan,
        draw=lambda job: [draw_examples(read_lines(job.input.translations), Path(job.input.reference))],
        kinds=("svg",),
        packed=False,  # treebanks are licensed
    ),
)

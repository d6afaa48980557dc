"""Section 3.2.1: attention with scaled, unscaled and additive scores, for several d_k; en-de, development set."""

from workflow.results.common.against_base import CSV_ONLY, against_base, ende_rows, measured
from workflow.results.common.records import over_seeds
from workflow.results.common.result import Content, Job, Plan, Rows, Run, Selection, Table
from workflow.results.common.scored import is_shown, read_inputs

CAPTION = """\
**Scaled, unscaled and additive attention.** Scores are divided by √d_k, left as they are, or additive, each for three
d_k. Measured on the development set; {scores} runs of ours. See whether
unscaled scores become worse than scaled ones as d_k grows, and whether additive ones do not. Rows that were not run are
marked "not run".
"""


def curves(rows: Rows) -> dict[str, list[Run]]:
    """The rows, unless Table 3 has all of them."""
    return rows.curve("Section 3.2.1", "scaling", rows.shown["table3"])


def plan(selection: Selection) -> Plan | None:
    """The rows that are run."""
    if "ende" not in selection.in_full and not curves(selection):
        return None
    return selection.on_dev(selection.shown["scaling"])


def content(job: Job) -> Content:
    """The table and its notes."""
    published, runs, notes = read_inputs(job)
    ours = over_seeds(against_base(runs))
    rows = [
        {
            ("Score", ""): row["score"],
            ("d_k", ""): str(row["d_k"]),
            ("Model", ""): row["model"],
            **measured(row, ours, published["table3"][0]),
        }
        for row in published["scaling"]
        if is_shown(job, ours, "ende", row["model"])
    ]
    return Content(rows, 3, notes, CSV_ONLY)


RESULTS = (
    Table(
        name="scaling",
        section="3.2.1",
        title="Scaled, unscaled and additive attention",
        detail="{languages}, development set",
        caption=CAPTION,
        shows=ende_rows("scaling"),
        curves=curves,
        plan=plan,
        content=content,
    ),
)

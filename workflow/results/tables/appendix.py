"""The appendix: attention over parameters instead of feed-forward layers, the paper's numbers and ours."""

from collections.abc import Mapping
from typing import Any

from workflow.results.common.against_base import BASE, CSV_ONLY, against_base, ende_rows, measured
from workflow.results.common.cells import number
from workflow.results.common.plan import Row
from workflow.results.common.records import Ours, over_seeds
from workflow.results.common.result import Content, Job, Plan, Rows, Run, Selection, Table
from workflow.results.common.scored import is_shown, read_inputs

CAPTION = """\
**Appendix.** Attention over parameters takes the place of the feed-forward layers. Only versions of the paper before v7
print this appendix. Measured on the development set; {scores} runs of ours. See how far the two rows are from base.
"""


def curves(rows: Rows) -> dict[str, list[Run]]:
    """The rows beside base."""
    return rows.curve("Appendix", "appendix", [BASE])


def plan(selection: Selection) -> Plan | None:
    """The rows that are run. There is no table with base alone."""
    return selection.on_dev(selection.shown["appendix"]) if curves(selection) else None


def table_row(row: Mapping[str, Any], all_ours: Ours, paper: Mapping[str, Any]) -> Row:
    """A row of the paper's table; `paper` is the paper's row of base."""
    ours = all_ours.get(("ende", row["model"]), {})
    return {
        ("Model", ""): row["name"],
        **{(key, ""): str(row.get(key, "")) for key in ("h_p", "d_pk", "d_pv", "n_p")},
        ("Steps", "published"): number(paper["steps"], 0),
        **measured(row, all_ours, paper),
        ("Hours", "published"): number(row["hours"], 0),
        ("Hours", "ours"): number(ours["seconds"] / 3600 if ours else None, 3),
    }


def content(job: Job) -> Content:
    """The table and its notes."""
    published, runs, notes = read_inputs(job)
    ours = over_seeds(against_base(runs))
    shown = [row for row in published["appendix"] if is_shown(job, ours, "ende", row["model"])]
    rows = [table_row(row, ours, published["table3"][0]) for row in shown]
    return Content(rows, 1, [*notes, *(row["note"] for row in shown if "note" in row)], CSV_ONLY)


RESULTS = (
    Table(
        name="appendix",
        section="Appendix",
        title="Attention over parameters",
        detail="{languages}, development set",
        caption=CAPTION,
        shows=ende_rows("appendix"),
        curves=curves,
        plan=plan,
        content=content,
    ),
)

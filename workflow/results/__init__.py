"""The results: tables and figures. Each file that ROOMS names declares its own in RESULTS.

Rules, targets, the report, the summary of `make reproduce` and the site follow from this list.
"""

from importlib import import_module
from typing import Any

# In this order the tables' runs are groups of the training curves.
ROOMS = (
    "claims.table",
    "claims.figure",
    "claims.replication",
    "tables.marks",
    "tables.table1",
    "tables.table3",
    "tables.positions",
    "tables.appendix",
    "tables.table2",
    "tables.table4",
    "tables.own",
    "tables.scaling",
    "tables.step_time",
    "tables.decoding",
    "tables.corpora",
    "tables.runs",
    "figures.attention",
    "figures.explore",
    "figures.curves",
    "figures.dot_products",
    "figures.trees",
    "tables.length",
    "ideas.table",
)


def load() -> list[tuple[str, Any]]:
    """Every `Result`, after the name of its room."""
    return [(room, result) for room in ROOMS for result in import_module(f"workflow.results.{room}").RESULTS]

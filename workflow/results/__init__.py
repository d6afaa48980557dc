"""The results: tables and figures. Each file that ROOMS names declares its own in RESULTS.

Rules, targets, the report, the summary of `make reproduce` and the site follow from this list.
"""

from importlib import import_module
from typing import Any

# In this order the tables' runs are groups of the training curves.
ROOMS = (
    "claims",
    "replication",
    "marks",
    "table1",
    "table3",
    "positions",
    "appendix",
    "table2",
    "table4",
    "own",
    "scaling",
    "step_time",
    "decoding",
    "corpora",
    "runs",
    "attention",
    "curves",
    "dot_products",
    "trees",
    "length",
)


def load() -> list[tuple[str, Any]]:
    """Every `Result`, after the name of its room."""
    return [(room, result) for room in ROOMS for result in import_module(f"workflow.results.{room}").RESULTS]

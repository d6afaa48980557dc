"""The text of cells."""

from collections.abc import Mapping

import pandas as pd

from transformer.evaluation.metrics import Metric
from workflow.results.common.plan import Row

NOT_RUN = "not run"


def number(value: float | None, digits: int) -> str:
    """`value` with `digits` digits after the point. Empty if there is no value."""
    return "" if value is None or pd.isna(value) else f"{value:z.{digits}f}"  # z: never -0.0


def chance(p: float | None) -> str:
    """A p-value. Empty if there is none."""
    return number(p, 4) if p is None or p >= 0.0001 else "< 0.0001"


def printed(value: float | None, digits: int) -> str:
    """A number of the paper: a whole number as it is, another with at least `digits` digits. Empty if there is none."""
    decimals = max(digits, len(str(value).partition(".")[2]))
    return str(value) if isinstance(value, int) else number(value, decimals)


def power(value: float | None) -> str:
    """`value` with two figures and an exponent, as the paper prints costs. Empty if there is no value."""
    return "" if value is None or pd.isna(value) else f"{value:.1e}"


def spread(ours: Mapping[str, float | None], key: str, digits: int) -> str:
    """The mean of a number and, if its seeds differ, its standard deviation. Empty if there is no value."""
    deviation = ours.get(f"{key}.sd")
    return number(ours.get(key), digits) + (f" ± {deviation:.{digits}f}" if deviation else "")


def signed(ours: Mapping[str, float | None], key: str, digits: int, unit: str = "") -> str:
    """A difference as `spread` shows it, with its sign and unit."""
    text = spread(ours, key, digits)
    return text and ("" if text.startswith("-") else "+") + text + unit


def beside(
    heading: str,
    published: float | None,
    ours: Mapping[str, float],
    key: str,
    digits: int,
    missing: str = NOT_RUN,
) -> Row:
    """Three cells: published, ours (or `missing`), and ours - published of the numbers as shown."""
    difference = ""
    if published is not None and key in ours:
        difference = f"{round(ours[key], digits) - published:+z.{digits}f}"
    return {
        (heading, "published"): printed(published, digits),
        (heading, "ours"): spread(ours, key, digits) if key in ours else missing,
        (heading, "difference"): difference,
    }


def metric_cells(
    metric: Metric, published: Mapping[str, float | None], ours: Mapping[str, float], missing: str = NOT_RUN
) -> Row:
    """A metric's cells: three for a number that the paper prints, one for another number."""
    cells: dict[tuple[str, str], str] = {}
    first = metric.columns[0]
    for column in metric.columns:
        if column.published:
            cells |= beside(column.heading, published.get(column.published), ours, column.key, column.digits, missing)
        else:
            subheading = "ours" if column is first else column.heading
            cells[first.heading, subheading] = spread(ours, column.key, column.digits)
    return cells

"""How far our Table 3 agrees with the paper's."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from workflow.results.claims.verdicts import MEASURES
from workflow.results.common.records import Ours

LARGEST = 4  # how many rows of the most different size the second correlation of Table 3 leaves out


def agreement(published: Sequence[Mapping[str, Any]], ours: Ours) -> list[str]:
    """How far our Table 3 agrees with the paper's: ranks of the rows, and sides of base. Empty for two rows.

    A row whose difference from base is printed as zero is on neither side.
    """
    notes = []
    parameters = {row["model"]: row["params"] for row in published if "params" in row}
    for measure in (MEASURES["perplexity"], MEASURES["bleu"]):
        rows = pd.DataFrame.from_dict(
            {
                row["model"]: (row[measure.published], ours["ende", row["model"]][measure.key])
                for row in published
                if measure.published in row and ("ende", row["model"]) in ours
            },
            orient="index",
        )
        if "base" not in rows.index or len(rows) < 3 or (rows.nunique() == 1).any():
            continue
        values = rows.map(measure.value)
        sides = np.sign((values - values.loc["base"]).map(measure.shown).round(measure.digits))
        apart = sides[(sides != 0).all(axis=1)]
        changed = {
            row: abs(math.log(parameters.get(row, parameters["base"]) / parameters["base"])) for row in rows.index
        }
        largest = sorted(changed, key=lambda row: -changed[row])[:LARGEST]
        without = ""
        if len(rows) > 2 * LARGEST:
            without = f" ({_ranks(rows.drop(largest)):.2f} without {', '.join(largest)})"
        notes.append(
            f"Table 3, {measure.heading}: correlation of ranks with the paper's {len(rows)} rows "
            f"{_ranks(rows):.2f}{without}; {(apart[0] == apart[1]).sum()} of {len(apart)} rows on the paper's side of "
            f"base ({(apart[0] < 0).sum()} are worse in the paper)."
        )
    return notes


def _ranks(both: pd.DataFrame) -> float:
    """Spearman's correlation of two columns."""
    return float(both.rank().corr().to_numpy()[0, 1])

"""How far our Table 3 agrees with the paper's."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from scipy.stats import spearmanr

from workflow.results.claims.verdicts import MEASURES
from workflow.results.common.records import Ours

LARGEST = 4  # how many rows of the most different size the second correlation of Table 3 leaves out


def _ranks(both: np.ndarray) -> float:
    """Spearman's correlation of two columns."""
    return float(spearmanr(both[:, 0], both[:, 1]).statistic)


def agreement(published: Sequence[Mapping[str, Any]], ours: Ours) -> list[str]:
    """How far our Table 3 agrees with the paper's: ranks of the rows, and sides of base. Empty for two rows.

    A row whose difference from base is printed as zero is on neither side.
    """
    notes = []
    parameters = {row["model"]: row["params"] for row in published if "params" in row}
    for name in ("perplexity", "bleu"):
        measure = MEASURES[name]
        pairs = {
            row["model"]: (row[measure.published], ours["ende", row["model"]][measure.key])
            for row in published
            if measure.published in row and ("ende", row["model"]) in ours
        }
        both = np.array(list(pairs.values()))
        if "base" not in pairs or len(pairs) < 3 or (both == both[0]).all(0).any():
            continue
        differences = [
            [measure.shown(measure.value(x) - measure.value(base)) for x in both[:, side]]
            for side, base in enumerate(pairs["base"])
        ]
        signs = np.sign(np.round(differences, measure.digits)).T
        apart = (signs != 0).all(1)
        equal = int((signs[apart, 0] == signs[apart, 1]).sum())
        worse = int((signs[apart, 0] < 0).sum())
        sizes = {row: abs(math.log(parameters.get(row, parameters["base"]) / parameters["base"])) for row in pairs}
        largest = sorted(sizes, key=lambda row: -sizes[row])[:LARGEST]
        others = [row not in largest for row in pairs]
        without = ""
        if sum(others) > LARGEST:
            without = (
                f", and of {_ranks(both[others]):.2f} without the {LARGEST} rows that change the number of parameters "
                f"most ({', '.join(largest)})"
            )
        notes.append(
            f"Table 3, {measure.heading}: the paper's ranks of {len(pairs)} rows and ours have a correlation "
            f"(Spearman) of {_ranks(both):.2f}{without}; {equal} of {apart.sum()} rows are on the same side of base "
            f"(in the paper {worse} of them are worse than base). Rows with a difference of zero are left out."
        )
    return notes

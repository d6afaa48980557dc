"""Runs whose perplexity on dev was best well before the end: they learnt their text by heart (history.csv)."""

from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

from workflow.results.common.csv_files import read_csv
from workflow.results.common.plan import Equal

EARLY = 0.8  # the best step is among this first part of a training,
WORSE = 0.02  # and the last perplexity is above the best by at least this share of it,
MEASURED = 5  # and dev was measured so often
# Trainings of the experiments here, which are not overfitted, end at most 1.4 % above their best.


class Best(NamedTuple):
    """Where perplexity on dev was best, and where it ended."""

    step: int
    perplexity: float
    last_step: int
    last_perplexity: float


def overfitted(history: str | Path) -> Best | None:
    """The best step of a run, if it came well before the end. Raises the InputErrors of `read_csv`."""
    read = read_csv(history, "dev_perplexity", "step")[["dev_perplexity", "step"]]
    measured = [(perplexity, int(step)) for perplexity, step in read.dropna().itertuples(index=False)]
    if len(measured) < MEASURED:
        return None
    (perplexity, step), (last, end) = min(measured), measured[-1]
    return Best(step, perplexity, end, last) if step <= EARLY * end and last >= (1 + WORSE) * perplexity else None


def overfitting_notes(histories: Iterable[str], equal: Equal) -> list[str]:
    """A line for each model that overfits, with what to set. A history is runs/TASK/MODEL/SEED/average-N/package/..."""
    runs: dict[tuple[str, str], list[Best | None]] = defaultdict(list)
    for history in histories:
        task, model = Path(history).parts[-6:-4]
        runs[task, ", ".join(equal[task][model])].append(overfitted(history))
    notes = []
    for (task, model), found in runs.items():
        if over := sorted(filter(None, found)):
            best = over[len(over) // 2]
            count = f" in {len(over)} of {len(found)} runs" if len(found) > 1 else ""
            notes.append(
                f"{task} {model} overfits{count}: perplexity on dev was best, {best.perplexity:.2f}, at step "
                f"{best.step:,} of {best.last_step:,}, and ended at {best.last_perplexity:.2f}. Set "
                f"`steps: {best.step}` for this model, raise its P_drop, or train on more text."
            )
    return notes

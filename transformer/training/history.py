"""history.csv: what a run measured while it trained."""

from pathlib import Path
from typing import Any

from transformer.support.files import atomic

HISTORY = ("step", "loss", "learning_rate", "gradient_norm", "tokens_per_second", "dev_perplexity")


def write_history(path: Path, rows: list[list[Any]]) -> None:
    """Write history.csv; an empty field where nothing was measured."""
    lines = [",".join(HISTORY)] + [",".join("" if x is None else f"{x:.8g}" for x in row) for row in rows]
    with atomic(path) as stream:
        stream.write(("\n".join(lines) + "\n").encode())

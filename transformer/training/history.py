"""history.csv: what a run measured while it trained."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

from transformer.support.files import write_lines

if TYPE_CHECKING:
    from torch.utils.tensorboard import SummaryWriter

HISTORY_FILE = "history.csv"
HISTORY = ("step", "loss", "learning_rate", "gradient_norm", "tokens_per_second", "dev_perplexity")


def write_history(path: Path, rows: list[list[Any]]) -> None:
    """Write history.csv. A value that was not measured (None) becomes an empty field. Raises as `write_lines` does."""
    cells = [HISTORY, *(["" if x is None else f"{x:.8g}" for x in row] for row in rows)]
    write_lines(path, map(",".join, cells))


def show(writer: "SummaryWriter", row: list[Any]) -> None:
    """Give a row to TensorBoard."""
    step, *values = row
    for name, value in zip(HISTORY[1:], values, strict=True):
        if value is not None:
            writer.add_scalar(name, value, step)

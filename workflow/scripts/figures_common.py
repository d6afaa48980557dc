"""The look of all figures, and files whose bytes depend only on the numbers."""

from collections.abc import Iterable
from pathlib import Path

import matplotlib as mpl
import matplotlib.pyplot as plt
from matplotlib.figure import Figure

mpl.use("Agg")
mpl.rcParams.update(
    {
        "font.size": 8,
        "axes.titlesize": 8,
        "axes.titleweight": "bold",
        "axes.titlelocation": "left",
        "axes.spines.top": False,
        "axes.spines.right": False,
        "axes.linewidth": 0.6,
        "axes.grid": True,
        "axes.axisbelow": True,
        "grid.color": "#e4e4e4",
        "grid.linewidth": 0.6,
        "legend.frameon": False,
        "legend.fontsize": 7,
        "pdf.fonttype": 42,
        "svg.hashsalt": "transformer",
    }
)

# Okabe and Ito's colours, which colour-blind readers can tell apart, without black and the pale yellow.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#E69F00", "#7A5195")
# An encoding has the same colour in every figure.
POSITIONS = dict(zip(("sinusoidal", "learned", "none", "t5", "alibi", "rotary"), ("black", *COLOURS), strict=False))


def save(figure: Figure, paths: Iterable[str]) -> None:
    """Write `figure` to every path, in the format of its suffix, without a date, and close it."""
    dates = {".pdf": {"CreationDate": None}, ".svg": {"Date": None}, ".png": {}}
    for path in paths:
        figure.savefig(path, dpi=200, bbox_inches="tight", metadata=dates[Path(path).suffix])
    plt.close(figure)

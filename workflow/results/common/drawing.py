"""The look of all figures, and files whose bytes depend only on the numbers.

Rooms are imported when the DAG is made, so matplotlib is imported only when something is drawn.
"""

import contextlib
import os
import re
from collections.abc import Iterable
from itertools import cycle
from pathlib import Path
from typing import Any, TypeAlias

import pandas as pd

Drawing: TypeAlias = Any  # matplotlib's Figure
Axes: TypeAlias = Any  # matplotlib's Axes
LOOK: Any = {
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
MOST = 70  # letters of a user's text in a figure

# Okabe and Ito's colours, which colour-blind readers can tell apart, without black and the pale yellow.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#E69F00", "#7A5195")
# An encoding has the same colour in every figure.
POSITIONS = dict(zip(("sinusoidal", "learned", "none", "t5", "alibi", "rotary"), ("black", *COLOURS), strict=False))
DASHES: Any = dict(zip(POSITIONS, cycle(("-", (0, (4, 2)), (0, (1, 1.5))))))  # of its lines


def own_look() -> None:
    """Give figures the look above, on any machine. Call this before anything else of matplotlib is imported.

    Files matplotlibrc, of the user or in the current folder, and MPLBACKEND may change figures, or be wrong.
    """
    os.environ |= {"MATPLOTLIBRC": os.devnull, "MPLBACKEND": "Agg"}
    with contextlib.chdir(Path(__file__).parent):
        import matplotlib as mpl
    mpl.use("Agg")
    mpl.rcdefaults()
    mpl.rcParams.update(LOOK)


def literal(text: str) -> str:
    """A user's text as a figure shows it: on one line, not too long, and never as mathematics."""
    line = re.sub("[\0-\x1f\x7f-\x9f\ud800-\udfff]", "\ufffd", " ".join(text.split()))
    return (line if len(line) <= MOST else line[: MOST - 1] + "…").replace("$", r"\$")


def panels(lines: int, columns: int, width: float, height: float, **how: Any) -> tuple[Drawing, Any]:
    """A figure of `width` x `height` inches, and its panels as an array [lines, columns]."""
    own_look()
    from matplotlib import pyplot as plt

    drawing, axes = plt.subplots(lines, columns, squeeze=False, figsize=(width, height), layout="constrained", **how)
    engine = drawing.get_layout_engine()
    place = engine.execute

    def round_places(figure: Drawing) -> None:
        """Kiwisolver adds in the order of addresses in memory. Files would have the last digits of its sums."""
        place(figure)
        for each in figure.axes:
            each.set_position([round(number, 9) for number in each.get_position(original=True).bounds], "original")
            each.set_in_layout(True)  # until the next format

    engine.execute = round_places
    return drawing, axes


def draw_band(axes: Axes, seeds: pd.DataFrame, alpha: float, **look: Any) -> None:
    """The mean over seeds, which are columns, as a line, and from the least to the greatest as a band."""
    axes.plot(seeds.mean(axis=1), **{"linewidth": 1.2, **look})
    if len(seeds.columns) > 1:
        least, most = seeds.min(axis=1), seeds.max(axis=1)
        axes.fill_between(seeds.index, least, most, color=look["color"], alpha=alpha, linewidth=0)


def plain_numbers(*axis: Any) -> None:
    """Write 1, 2, 5, 10 and so on beside logarithmic axes."""
    from matplotlib.ticker import LogLocator, NullLocator, ScalarFormatter

    for each in axis:
        each.set_major_locator(LogLocator(subs=(1, 2, 5)))
        each.set_major_formatter(ScalarFormatter())
        each.set_minor_locator(NullLocator())


def shortened(svg: str) -> str:
    """An SVG whose coordinates have two decimals. A hundredth of a point cannot be seen, and the file is shorter."""
    decimals = re.compile(r"\d+\.\d{3,}")
    return re.sub(
        r' (?:d|x|y)="[^"]*"', lambda found: decimals.sub(lambda each: f"{float(each[0]):.2f}", found[0]), svg
    )


def save(drawing: Drawing | str, paths: Iterable[str]) -> None:
    """Write a drawing to every path, in the format of its suffix, without a date, and close it. A text is written."""
    if isinstance(drawing, str):
        for path in paths:
            Path(path).write_text(drawing, "utf-8")
        return
    from matplotlib import pyplot as plt

    dates = {".pdf": {"CreationDate": None}, ".svg": {"Date": None}, ".png": {}}
    for path in paths:
        drawing.savefig(path, dpi=200, bbox_inches="tight", metadata=dates[Path(path).suffix])
        if Path(path).suffix == ".svg":
            Path(path).write_text(shortened(Path(path).read_text("utf-8")), "utf-8")
    plt.close(drawing)

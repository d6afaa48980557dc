"""Positional encodings: row (E) of Table 3 and later ones, en-de; scores on longer sentences than those of training."""

import math
from collections.abc import Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import pandas as pd

from workflow.results.common.against_base import BASE, CSV_ONLY, against_base, ende_rows, measured
from workflow.results.common.by_length import Lengths, between, perplexity, read_lengths, sacrebleu
from workflow.results.common.cells import NOT_RUN, spread
from workflow.results.common.drawing import DASHES, POSITIONS, Drawing, draw_band, panels, plain_numbers
from workflow.results.common.figure import Figure
from workflow.results.common.plan import Row
from workflow.results.common.records import Ours, over_seeds, read_yaml
from workflow.results.common.result import Content, Job, Plan, Rows, Run, Selection, Table
from workflow.results.common.scored import is_shown, read_inputs

CAPTION = """\
**Positional encodings.** Row (E) of Table 3 and four later encodings: {scores} runs of ours
on the development set. The table also has perplexity and sacreBLEU by the length of sentences. Training has pairs of at
most {longest} subwords. See which rows keep their scores on longer pairs. The paper expects that
sinusoids may do so.
"""
FIGURE_CAPTION = """\
**Scores by length.** Perplexity of a subword (above) and sacreBLEU (below) of held-out pairs with different
positional encodings, against the subwords of their longer side. There are {scores} runs. The right panels show the
same scores relative to base with the same seed, if base is run. Lines are means over seeds; bands go from the least
seed to the greatest, and a single seed has none. Lengths with few pairs are left out. The lengths of training are
shaded. Longer sentences are harder for all encodings, so look at the right panels, and at the lines that leave base
where the shading ends. Where sacreBLEU is near 0, its differences are also near 0. Learned positions end at the longest
sentence that they were made for.
"""
Classes = Sequence[tuple[int, float]]
EDGES = (0, 1, 3 / 2, 2, 3, math.inf)  # of the classes of lengths; the unit is the longest pair of training
FEWEST = 30  # pairs of a class; smaller classes are left out
MEASURES = {"Perplexity": (perplexity, 2), "sacreBLEU": (sacrebleu, 1)}  # how each is computed, and its digits
FEW = {"perplexity": ("pairs", 10), "sacrebleu": ("translations", 30)}  # the fewest with which a length class is drawn


def curves(rows: Rows) -> dict[str, list[Run]]:
    """The rows with base; none if Table 3 has all of them."""
    return rows.curve("Positions", "positions", [BASE, *rows.shown["table3"]])


def plan(selection: Selection) -> Plan | None:
    """The rows that are run, with their scores by length."""
    if not curves(selection):
        return None
    scored = selection.on_dev(selection.shown["positions"], longest=selection.longest)
    return scored.reading(lengths=[str(Path(path).with_name("lengths.csv")) for path in scored.input["scores"]])


def classes_of(longest: int, lengths: Lengths) -> list[tuple[int, float]]:
    """The shortest and the longest length of each class with at least FEWEST pairs; the first is that of training."""
    ends = [math.ceil(longest * edge) if edge < math.inf else edge for edge in EDGES]
    classes = [(int(low) + 1, high) for low, high in pairwise(ends)]
    seeds = [one for each in lengths.values() for one in each]
    return [each for each in classes if not seeds or any(between(one, *each)["pairs"].sum() >= FEWEST for one in seeds)]


def named(shortest: int, longest: float) -> str:
    """The heading of a class of lengths."""
    return f"{shortest} to {longest}" if longest < math.inf else f"above {shortest - 1}"


def table_row(row: Mapping[str, Any], ours: Ours, paper: Mapping[str, Any], lengths: Lengths, classes: Classes) -> Row:
    """A row; `paper` is the paper's row of base."""
    seeds = lengths.get(row["model"], ())
    by_length = {
        (f"{name} by subwords of the longer side", named(*each)): mean(
            [how(between(one, *each)) for one in seeds], digits
        )
        for name, (how, digits) in MEASURES.items()
        for each in classes
    }
    return {
        ("Positions", ""): row["name"],
        ("Model", ""): row["model"],
        **measured(row, ours, paper),
        **by_length,
    }


def mean(seeds: Sequence[float], digits: int) -> str:
    """The mean over seeds with its standard deviation; a dash where a seed has no number."""
    values = pd.Series(seeds, dtype=float)
    if values.empty:
        return NOT_RUN
    numbers = {"mean": values.mean(), "mean.sd": values.std() if len(values) > 1 else 0.0}
    return "–" if values.isna().any() else spread(numbers, "mean", digits)


def length_note(lengths: Lengths, classes: Classes) -> list[str]:
    """On how many pairs the scores by length are measured."""
    if not lengths:
        return []
    seeds = [one for each in lengths.values() for one in each]  # a model with too few positions translates less
    pairs, translated = (
        ", ".join(f"{max(between(one, *each)[key].sum() for one in seeds):,.0f} ({named(*each)})" for each in classes)
        for key in ("pairs", "translations")
    )
    return [f"Pairs by length: {pairs}; translated: {translated}."]


def content(job: Job) -> Content:
    """The table and its notes."""
    published, runs, notes = read_inputs(job)
    ours, longest = over_seeds(against_base(runs)), job.params.longest
    lengths = read_lengths(job.input.scores, job.input.lengths, job.params.equal)
    shown = [row for row in published["positions"] if is_shown(job, ours, "ende", row["model"])]
    classes = classes_of(longest, lengths)
    rows = [table_row(row, ours, published["table3"][0], lengths, classes) for row in shown]
    return Content(rows, 2, [*notes, *length_note(lengths, classes)], CSV_ONLY)


def by_class(seeds: Sequence[pd.DataFrame], measure: str) -> pd.DataFrame:
    """A measure, with a row for each length class that is drawn, by its middle, and a column for each seed."""
    column, few = FEW[measure]
    drawn = [one[one[column] >= few] for one in seeds]
    return pd.concat([one.set_index((one["shortest"] + one["longest"]) / 2)[measure] for one in drawn], axis=1)


def draw(rows: Sequence[Mapping[str, Any]], lengths: Lengths, longest: int) -> Drawing:
    """Perplexity above and BLEU below; on the right relative to base with the same seed, if base is run.

    The lengths of training, up to `longest` subwords, are shaded. A line ends with the positions of its model.
    """
    figure, grid = panels(2, 2, 7.2, 5.6, sharex=True)
    for axes in grid.flat:
        axes.axvspan(1, longest, color="#f0f0f0", zorder=0, label="lengths of training" if axes is grid[0, 0] else None)
    for row in (row for row in rows if row["model"] in lengths):
        colour, dashes = POSITIONS[row["positions"]], DASHES[row["positions"]]
        look: Any = {"color": colour, "linestyle": dashes, "marker": "o", "markersize": 2.5, "label": row["name"]}
        for measure, (left, right) in zip(FEW, grid, strict=True):
            values = by_class(lengths[row["model"]], measure)
            draw_band(left, values, 0.12, **look)
            if "base" in lengths:
                base = by_class(lengths["base"], measure)
                draw_band(right, values / base if measure == "perplexity" else values - base, 0.12, **look)
    labels = ("perplexity of a subword", "perplexity / that of base", "sacreBLEU", "sacreBLEU minus that of base")
    for axes, label in zip(grid.flat, labels, strict=True):
        axes.set_ylabel(label)
    grid[0, 0].set(xscale="log", yscale="log", xlim=(0.25 * longest, None))
    plain_numbers(grid[0, 0].xaxis, grid[0, 0].yaxis)
    for axes in grid[1]:
        axes.set_xlabel("subwords of the longer side of a pair")
    handles, labels = grid[0, 0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=4, handlelength=3)
    return figure


def figure(job: Job) -> list[Drawing]:
    """The figure."""
    lengths = read_lengths(job.input.scores, job.input.lengths, job.params.equal)
    return [draw(read_yaml(job.input.published)["positions"], lengths, job.params.longest)]


RESULTS = (
    Table(
        name="positions",
        section="3.5",
        title="Positional encodings",
        detail="{languages}, development set",
        caption=CAPTION,
        shows=ende_rows("positions"),
        curves=curves,
        plan=plan,
        content=content,
    ),
    Figure(
        name="positions",
        section="3.5",
        titles={"positions": "Positional encodings, by length"},
        caption=FIGURE_CAPTION,
        plan=plan,
        draw=figure,
    ),
)

"""Table 3 as a picture: how far each variation moves BLEU and perplexity from base, in the paper and here."""

import re
from collections.abc import Mapping, Sequence
from itertools import groupby, pairwise
from statistics import fmean
from typing import Any

import matplotlib.pyplot as plt
from figures_common import COLOURS, save
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from records import logged, over_seeds, read_yaml
from scores import KEYS, read_runs
from table3 import OVERRIDES

GROUP_GAP = 0.7  # before a new group; the unit is the distance between rows
MARKS = {"paper": ("o", COLOURS[0], COLOURS[0]), "ours": ("D", COLOURS[1], "none")}


def label(row: Mapping[str, Any]) -> str:
    """The changes of a row, as the paper writes them."""
    symbols = {key: re.sub(r"_(\w+)", r"_{\\mathrm{\1}}", key.replace("eps", r"\epsilon")) for key in OVERRIDES}
    changes = ", ".join(f"${symbols[key]}$ = {row[key]}" for key in OVERRIDES if key in row)
    return row.get("text", changes) or row["model"] if "group" in row else row["model"]


def heights(rows: Sequence[Mapping[str, Any]]) -> list[float]:
    """How far down each row is."""
    places = [0.0]
    for above, row in pairwise(rows):
        places.append(places[-1] + 1 + GROUP_GAP * (above.get("group") != row.get("group")))
    return places


def against_base(scores: Mapping[str, float], measure: str) -> dict[str, float]:
    """Each model's BLEU minus that of base, or perplexity over that of base; nothing if base was not run."""
    if "base" not in scores:
        return {}
    base = scores["base"]
    return {model: score - base if measure == "BLEU" else score / base for model, score in scores.items()}


def draw_measure(
    axes: Axes, measure: str, scores: Mapping[str, Mapping[str, float]], places: Mapping[str, float]
) -> None:
    """Draw one measure; scores: {"paper", "ours"} -> model -> score. A model that was not run has no mark."""
    digits = 1 if measure == "BLEU" else 2
    axes.axvline(0 if measure == "BLEU" else 1, color="black", linewidth=0.8)
    for name, numbers in scores.items():
        points = against_base(numbers, measure)
        marker, colour, face = MARKS[name]
        base = f"base {numbers['base']:.{digits}f}" if points else "base not run"
        axes.plot(
            list(points.values()),
            [places[model] for model in points],
            linestyle="none",
            marker=marker,
            markersize=5,
            color=colour,
            markerfacecolor=face,
            label=f"{name} ({base})",
        )
    axes.tick_params(axis="y", length=0)
    axes.legend(loc="lower center", bbox_to_anchor=(0.5, 1), ncols=2, handletextpad=0.2)


def draw(rows: Sequence[Mapping[str, Any]], ours: Mapping[tuple[str, str], Mapping[str, float]]) -> Figure:
    """A panel for BLEU and one for perplexity, a line for each of the table's `rows`."""
    run = {model: numbers for (task, model), numbers in ours.items() if task == "ende"}
    places = dict(zip((row["model"] for row in rows), heights(rows), strict=True))
    last = max(places.values())
    figure, (bleu, perplexity) = plt.subplots(1, 2, sharey=True, figsize=(7.2, 0.19 * last + 1), layout="constrained")
    for axes, measure, printed in ((bleu, "BLEU", "bleu"), (perplexity, "perplexity", "ppl")):
        paper = {row["model"]: row[printed] for row in rows if printed in row}
        mine = {model: numbers[KEYS[printed]] for model, numbers in run.items() if model in places}
        draw_measure(axes, measure, {"paper": paper, "ours": mine}, places)
    bleu.set_xlabel("BLEU minus that of base\n(better to the right)")
    perplexity.set_xlabel("perplexity / that of base\n(better to the left)")
    bleu.set(yticks=list(places.values()), yticklabels=map(label, rows), ylim=(last + 0.7, -0.7))
    for group, members in groupby(rows, key=lambda row: row.get("group", "")):
        middle = fmean(places[row["model"]] for row in members)
        perplexity.text(1.02, middle, group, transform=perplexity.get_yaxis_transform(), va="center")
    return figure


def main(snakemake: Any) -> None:
    ours = over_seeds(read_runs(snakemake.input.scores, snakemake.input.packages, snakemake.params.equal))
    figure = draw([*snakemake.params.own, *read_yaml(snakemake.input.published)["table3"]], ours)
    save(figure, snakemake.output)
    plt.close(figure)


if "snakemake" in globals():
    logged(main, snakemake)

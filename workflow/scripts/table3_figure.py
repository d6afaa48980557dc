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
from scores import read_runs
from table3 import OVERRIDES, PRINTED, against_base, change
from tables_common import Ours, number

from transformer.evaluation.metrics import Column

Changes = Mapping[str, tuple[float, float]]  # model -> change from base and its standard deviation over seeds

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


def of_paper(rows: Sequence[Mapping[str, Any]], column: Column) -> tuple[float, Changes]:
    """The paper's number of base, and its changes from base."""
    printed = {row["model"]: row[column.published] for row in rows if column.published in row}
    base = printed["base"]
    return base, {model: (change(column, score, base), 0.0) for model, score in printed.items()}


def of_ours(rows: Sequence[Mapping[str, Any]], ours: Ours, column: Column) -> tuple[float | None, Changes]:
    """Our number of base, and our changes from base. There are none if base was not run."""
    run = {row["model"]: ours["ende", row["model"]] for row in rows if ("ende", row["model"]) in ours}
    if "base" not in run:
        return None, {}
    key = f"{column.key}.change"
    return run["base"][column.key], {model: (each[key], each[f"{key}.sd"]) for model, each in run.items()}


def draw_changes(axes: Axes, name: str, base: str, changes: Changes, places: Mapping[str, float]) -> None:
    """Draw a mark for each change, with a bar if seeds differ. `name` is "paper" or "ours"."""
    marker, colour, face = MARKS[name]
    means, deviations = zip(*changes.values(), strict=True) if changes else ((), ())
    axes.errorbar(
        means,
        [places[model] for model in changes],
        xerr=deviations if any(deviations) else None,
        linestyle="none",
        elinewidth=1,
        marker=marker,
        markersize=5,
        color=colour,
        markerfacecolor=face,
        label=f"{name} (base {base})",
    )


def draw(rows: Sequence[Mapping[str, Any]], ours: Ours) -> Figure:
    """A panel for BLEU and one for perplexity, a line for each of the table's `rows`."""
    places = dict(zip((row["model"] for row in rows), heights(rows), strict=True))
    last = max(places.values())
    figure, (bleu, perplexity) = plt.subplots(1, 2, sharey=True, figsize=(7.2, 0.19 * last + 1), layout="constrained")
    for axes, key in ((bleu, "paper_bleu.score"), (perplexity, "perplexity")):
        column = PRINTED[key]
        axes.axvline(0, color="black", linewidth=0.8)
        for name, (base, changes) in {"paper": of_paper(rows, column), "ours": of_ours(rows, ours, column)}.items():
            draw_changes(axes, name, number(base, column.digits) or "not run", changes, places)
        axes.tick_params(axis="y", length=0)
        axes.legend(loc="lower center", bbox_to_anchor=(0.5, 1), ncols=2, handletextpad=0.2)
    bleu.set_xlabel("BLEU from base, points\n(better to the right)")
    perplexity.set_xlabel("perplexity from base, %\n(better to the left)")
    bleu.set(yticks=list(places.values()), yticklabels=map(label, rows), ylim=(last + 0.7, -0.7))
    for group, members in groupby(rows, key=lambda row: row.get("group", "")):
        middle = fmean(places[row["model"]] for row in members)
        perplexity.text(1.02, middle, group, transform=perplexity.get_yaxis_transform(), va="center")
    return figure


def main(snakemake: Any) -> None:
    runs = read_runs(snakemake.input.scores, snakemake.input.packages, snakemake.params.equal)
    figure = draw(
        [*snakemake.params.own, *read_yaml(snakemake.input.published)["table3"]], over_seeds(against_base(runs))
    )
    save(figure, snakemake.output)


if "snakemake" in globals():
    logged(main, snakemake)

"""Table 3: variations on the architecture, the paper's numbers and ours, en-de, development set."""

import re
from collections.abc import Mapping, Sequence
from itertools import groupby, pairwise
from statistics import fmean
from typing import Any

from transformer.evaluation.metrics import Column
from transformer.support.strict import listed
from workflow.results.common.against_base import (
    BASE,
    CSV_ONLY,
    PRINTED,
    against_base,
    change,
    ende_rows,
    measured,
)
from workflow.results.common.cells import number
from workflow.results.common.drawing import COLOURS, Axes, Drawing, literal, panels
from workflow.results.common.figure import Figure
from workflow.results.common.plan import Row
from workflow.results.common.records import Ours, over_seeds, read_runs, read_yaml
from workflow.results.common.result import OWN, Content, Job, Plan, Rows, Run, Selection, Table
from workflow.results.common.scored import is_shown, read_inputs

CAPTION = """\
**Table 3.** Variations on the architecture, measured on the development set.
The paper's rows stand beside {scores} runs of ours. See how a row differs from base in the
paper, and whether our row differs in the same direction.
"""
FIGURE_CAPTION = """\
**Table 3 as a picture.** Each variation moves BLEU and perplexity away from base: in the paper (filled circles) and in
our runs (open diamonds). There are {scores} runs. The paper's numbers and ours have different
scales, so each is drawn relative to its own base, whose score stands above the panel. A diamond is the mean over seeds
of the difference from base of the same seed, and its bar reaches one standard deviation of these differences to either
side. A single seed has no bar. A row without a diamond was not run; there are no diamonds if base was not run. Look for
rows whose two marks are on different sides of the line.
"""
OVERRIDES = ("N", "d_model", "d_ff", "h", "d_k", "d_v", "P_drop", "eps_ls")
Changes = Mapping[str, tuple[float, float]]  # model -> change from base and its standard deviation over seeds

GROUP_GAP = 0.7  # before a new group; the unit is the distance between rows
MARKS = {"paper": ("o", COLOURS[0], COLOURS[0]), "ours": ("D", COLOURS[1], "none")}


def own_row(rows: Rows, task: str, model: str) -> dict[str, Any] | None:
    """A model of your own with its changes from base."""
    return {"group": OWN, "model": model, "changes": rows.experiment.models[model]} if task == "ende" else None


def curves(rows: Rows) -> dict[str, list[Run]]:
    """The groups of the table, each with base."""
    groups: dict[str, list[Run]] = {}
    for row in rows.published["table3"]:
        if "group" in row:
            groups.setdefault(f"Table 3 {row['group']}", [BASE]).append(("ende", row["model"]))
    groups["Your own models"] = [BASE, *rows.own.get("table3", ())]
    return {name: runs for name, group in groups.items() if set(runs := rows.trained(group)) - {BASE}}


def plan(selection: Selection) -> Plan:
    """The rows of the paper and your own, as far as they are run."""
    return selection.on_dev(selection.shown["table3"], own=selection.own_rows["table3"])


def figure_plan(selection: Selection) -> Plan | None:
    """The same, if there are rows to compare."""
    return plan(selection) if "ende" in selection.in_full else None


def table_rows(shown: Sequence[Mapping[str, Any]], ours: Ours, paper: Mapping[str, Any]) -> list[Row]:
    """A row for each of the paper's rows, and for each row of your own, which has its `changes` from base.

    `paper` is the paper's row of base. It also has the steps of the rows for which the paper prints none.
    """
    return [
        {
            ("Row", ""): row.get("group", row["model"]),
            ("Model", ""): ": ".join([row["model"], *text_of(row)]),
            **{(key, ""): str(row.get("changes", row).get(key, "")) for key in OVERRIDES},
            ("Steps", "published"): "" if "changes" in row else number(row.get("steps", paper["steps"]), 0),
            **measured(row, ours, paper),
        }
        for row in shown
    ]


def text_of(row: Mapping[str, Any]) -> list[str]:
    """The changes of a row that have no column."""
    if "text" in row:
        return [row["text"]]
    others = {key: value for key, value in row.get("changes", {}).items() if key not in OVERRIDES}
    return [listed(others)] if others else []


def content(job: Job) -> Content:
    """The table and its notes."""
    published, runs, notes = read_inputs(job)
    ours = over_seeds(against_base(runs))
    printed = (row for row in published["table3"] if is_shown(job, ours, "ende", row["model"]))
    shown = [*job.params.own, *printed]
    said = [row["note"] for row in shown if "note" in row]
    return Content(table_rows(shown, ours, published["table3"][0]), 2, [*notes, *said], CSV_ONLY)


def label(row: Mapping[str, Any]) -> str:
    """The changes of a row, as the paper writes them."""
    symbols = {key: re.sub(r"_(\w+)", r"_{\\mathrm{\1}}", key.replace("eps", r"\epsilon")) for key in OVERRIDES}
    changes = ", ".join(f"${symbols[key]}$ = {row[key]}" for key in OVERRIDES if key in row)
    return literal(row.get("text", "")) or changes or row["model"] if "group" in row else literal(row["model"])


def heights(rows: Sequence[Mapping[str, Any]]) -> list[float]:
    """How far down each row is."""
    places = [0.0]
    for above, row in pairwise(rows):
        places.append(places[-1] + 1 + GROUP_GAP * (above.get("group") != row.get("group")))
    return places


def of_paper(rows: Sequence[Mapping[str, Any]], column: Column) -> tuple[float, Changes]:
    """The paper's number of base, and its changes from base."""
    key = column.published
    printed = {row["model"]: row[key] for row in rows if key and key in row}
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


def draw(rows: Sequence[Mapping[str, Any]], ours: Ours) -> Drawing:
    """A panel for BLEU and one for perplexity, a line for each of the table's `rows`."""
    places = dict(zip((row["model"] for row in rows), heights(rows), strict=True))
    last = max(places.values())
    figure, [(bleu, perplexity)] = panels(1, 2, 7.2, 0.19 * last + 1, sharey=True)
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


def figure(job: Job) -> list[Drawing]:
    """The figure."""
    runs = read_runs(job.input.scores, job.input.packages, job.params.equal)
    return [draw([*job.params.own, *read_yaml(job.input.published)["table3"]], over_seeds(against_base(runs)))]


RESULTS = (
    Table(
        name="table3",
        section="6.2",
        title="Table 3: variations on the architecture",
        detail="{languages}, development set",
        caption=CAPTION,
        shows=ende_rows("table3"),
        own_row=own_row,
        curves=curves,
        plan=plan,
        content=content,
        printed={
            "Model": "Table 3",
            "Perplexity from base, published": "perplexity from base, paper",
            "Perplexity from base, ours": "ours",
            "BLEU from base, published": "BLEU from base, paper",
            "BLEU from base, ours": "ours",
            "Perplexity, ours": "perplexity",
            "BLEU, ours": "BLEU",
        },
    ),
    Figure(
        name="table3",
        section="6.2",
        titles={"table3": "Table 3: variations on the architecture"},
        caption=FIGURE_CAPTION,
        plan=figure_plan,
        draw=figure,
    ),
)

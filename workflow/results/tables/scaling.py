"""Section 3.2.1: attention with scaled, unscaled and additive scores, for several d_k; en-de, development set."""

from typing import Any

from workflow.results.common.against_base import CSV_ONLY, against_base, ende_rows, measured, star_notes
from workflow.results.common.records import over_seeds, read_json
from workflow.results.common.result import Content, Job, Plan, Rows, Run, Selection, Table
from workflow.results.common.scored import is_shown, read_inputs

CAPTION = """\
**Scaled, unscaled and additive attention.** Scores are divided by √d_k, left as they are, or additive, each for three
d_k. Measured on the development set; {scores} runs of ours. See whether
unscaled scores become worse than scaled ones as d_k grows, and whether additive ones do not. Rows that were not run are
marked "not run".
"""
NOTES = [
    "The score of a query q and a key k is q·k / √d_k (scaled), q·k (unscaled) or v·tanh(q + k) (additive). All three "
    "take q and k from the same projections. The values of d_k are those of the config, before they are scaled.",
    "Perplexity and BLEU are measured as in Table 3.",
    "The paper says that additive attention is better than unscaled dot products if d_k is large, and about as good if "
    "d_k is small. It prints no numbers for the unscaled and the additive rows.",
]


def curves(rows: Rows) -> dict[str, list[Run]]:
    """The rows, unless Table 3 has all of them."""
    return rows.curve("Section 3.2.1", "scaling", rows.shown["table3"])


def plan(selection: Selection) -> Plan | None:
    """The rows that are run, and the measurements of Table 1."""
    if "ende" not in selection.in_full and not curves(selection):
        return None
    return selection.on_dev(selection.shown["scaling"]).reading(complexity=selection.runs.paths.complexity)


def cost_note(complexity: dict[str, Any]) -> str:
    """Time and memory of additive attention and of dot products, at the largest n that both have."""
    dot, additive = (
        {point["n"]: point for point in complexity["layers"][name]["by"]["n"]}
        for name in ("self-attention", "additive self-attention")
    )
    n = max(additive)
    each = [
        f"{name} {1e3 * point['seconds']:.3g} ms and {point['bytes'] / 1e6:.3g} MB"
        for name, point in (("dot products", dot[n]), ("additive", additive[n]))
    ]
    return (
        f"Time and memory of the forward and backward pass of one layer without projections, over {n} positions of "
        f"width {additive[n]['d']} (measured as in Table 1): {'; '.join(each)}."
    )


def content(job: Job) -> Content:
    """The table and its notes."""
    published, runs, notes, made = read_inputs(job)
    ours = over_seeds(against_base(runs))
    rows = [
        {
            ("Score", ""): row["score"],
            ("d_k", ""): str(row["d_k"]),
            ("Model", ""): row["model"],
            **measured(row, ours, published["table3"][0]),
        }
        for row in published["scaling"]
        if is_shown(job, ours, "ende", row["model"])
    ]
    cost = cost_note(read_json(job.input.complexity))
    return Content(rows, 3, [*notes, *NOTES, cost, *star_notes(ours)], made, CSV_ONLY)


RESULTS = (
    Table(
        name="scaling",
        section="3.2.1",
        title="Scaled, unscaled and additive attention",
        detail="{languages}, development set",
        caption=CAPTION,
        shows=ende_rows("scaling"),
        curves=curves,
        plan=plan,
        content=content,
    ),
)

"""Section 3.2.1: attention by scaled, unscaled and additive scores, for several d_k; en-de, development set."""

from typing import Any

from records import over_seeds, read_json
from table3 import COMPARED, measured
from tables_common import is_shown, read_inputs, write_table

TITLE = "Scaling: scores divided by sqrt(d_k), as they are, and additive, en-de, development set, published and ours"
NOTES = [
    "Scores of a query q and a key k: scaled q.k / sqrt(d_k), unscaled q.k, additive v^T tanh(q + k), which multiplies "
    "by the projections of queries and keys. d_k is the paper's; for scale and text of ours see below. Perplexity and "
    "BLEU as in Table 3.",
    "The paper says that additive attention is better than unscaled dot products where d_k is large, and about as good "
    "where it is small; it prints no numbers of these rows.",
]


def cost_note(complexity: dict[str, Any]) -> str:
    """Time and memory of additive attention beside those of dot products, at the largest n that both have."""
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
        f"Time and memory of one layer without projections, forward and backward, over {n} positions of width "
        f"{additive[n]['d']}, measured as in Table 1: {'; '.join(each)}."
    )


def main(snakemake: Any) -> None:
    published, runs, notes = read_inputs(snakemake)
    ours = over_seeds(runs)
    rows = [
        {("Score", ""): row["score"], ("d_k", ""): str(row["d_k"]), ("Model", ""): row["model"], **measured(row, ours)}
        for row in published["scaling"]
        if is_shown(snakemake, ours, "ende", row["model"])
    ]
    cost = cost_note(read_json(snakemake.input.complexity))
    write_table(snakemake.output, TITLE, rows, [*NOTES, cost, COMPARED, *notes], names=3)

"""Section 3.2.1: attention with scaled, unscaled and additive scores, for several d_k; en-de, development set."""

from typing import Any

from records import over_seeds, read_json
from table3 import COMPARED, CSV_ONLY, against_base, measured
from tables_common import is_shown, read_inputs, write_table

NOTES = [
    "The score of a query q and a key k is q·k / √d_k (scaled), q·k (unscaled) or v·tanh(q + k) (additive). All three "
    "take q and k from the same projections. The values of d_k are the paper's.",
    "Perplexity and BLEU are measured as in Table 3.",
    "The paper says that additive attention is better than unscaled dot products if d_k is large, and about as good if "
    "d_k is small. It prints no numbers for the unscaled and the additive rows.",
]


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


def main(snakemake: Any) -> None:
    published, runs, notes, made = read_inputs(snakemake)
    ours = over_seeds(against_base(runs))
    shown = [row for row in published["scaling"] if is_shown(snakemake, ours, "ende", row["model"])]
    rows = [
        {
            ("Score", ""): row["score"],
            ("d_k", ""): str(row["d_k"]),
            ("Model", ""): row["model"],
            **measured(row, ours, published["table3"][0]),
        }
        for row in shown
    ]
    cost = cost_note(read_json(snakemake.input.complexity))
    told = [*notes, *NOTES, cost, *COMPARED]
    write_table(snakemake, rows, 3, told, made, CSV_ONLY)

"""Why scores are divided by sqrt(d_k): their variance, entropy and gradient of their softmax, against d_k."""

from collections.abc import Sequence
from typing import Any

import matplotlib.pyplot as plt
from figures_common import COLOURS, save
from matplotlib.figure import Figure
from matplotlib.ticker import NullLocator
from records import logged

from transformer.evaluation.dot_products import against_d_k

D_K = tuple(2**power for power in range(11))
KEYS = 32
LOOKS = {"unscaled": (COLOURS[1], r"$q \cdot k$"), "scaled": (COLOURS[0], r"$q \cdot k\,/\,\sqrt{d_k}$")}
TITLES = {
    "variance": "Variance of a score",
    "entropy": f"Entropy of the softmax over {KEYS} keys, nats",
    "gradient": "Norm of the Jacobian of the softmax",
}


def draw(d_k: Sequence[int], queries: int) -> Figure:
    found = against_d_k(d_k, KEYS, queries)
    figure, axes = plt.subplots(1, 3, figsize=(8.4, 2.8), layout="constrained")
    for panel, (key, title) in zip(axes, TITLES.items(), strict=True):
        for name, (colour, label) in LOOKS.items():
            values = [getattr(each, key) for each in found[name]]
            # The variance is also known exactly, and that is its line.
            line = "none" if key == "variance" else "-"
            panel.plot(d_k, values, color=colour, label=label, marker="o", markersize=3, linestyle=line, linewidth=1.2)
        panel.set_title(title)
        panel.set_xscale("log", base=2)
        panel.set_xticks(d_k[::2], map(str, d_k[::2]))
        panel.xaxis.set_minor_locator(NullLocator())
        panel.set_xlabel("$d_k$")
    axes[0].plot(d_k, d_k, color=COLOURS[1], linewidth=1, label="expected: $d_k$")
    axes[0].plot(d_k, [1] * len(d_k), color=COLOURS[0], linewidth=1, label="expected: 1")
    axes[0].set_yscale("log")
    axes[0].legend()
    axes[1].set_ylim(bottom=0)
    axes[2].set_ylim(bottom=0)
    axes[2].legend(loc="lower left")
    return figure


def main(snakemake: Any) -> None:
    save(draw(D_K, queries=2000), snakemake.output)


if "snakemake" in globals():
    logged(main, snakemake)

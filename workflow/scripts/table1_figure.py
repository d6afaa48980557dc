"""Table 1 as a picture: time and memory of one layer against the length of a sentence and the width of the layer."""

from collections.abc import Mapping
from typing import Any

import matplotlib.pyplot as plt
from figures_common import COLOURS, save
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, NullLocator
from records import logged, read_json
from table1 import middle

LOOKS = {  # a variant of a layer has its colour and a dashed line
    "self-attention": (COLOURS[0], "-"),
    "self-attention with projections": (COLOURS[0], "--"),
    "additive self-attention": (COLOURS[1], "-"),
    "recurrent": (COLOURS[2], "-"),
    "convolutional": (COLOURS[3], "-"),
    "convolutional, separable": (COLOURS[3], "--"),
    "restricted self-attention": (COLOURS[4], "-"),
}
MEASURES = {"seconds": ("time, milliseconds", 1e-3), "bytes": ("memory kept for the backward pass, MB", 1e6)}


def draw(record: Mapping[str, Any]) -> Figure:
    figure, axes = plt.subplots(2, 2, figsize=(7.2, 5.6), sharex="col", sharey="row", layout="constrained")
    sizes = record["sizes"]
    columns = {"n": f"length n, at width {middle(sizes['d'])}", "d": f"width d, at length {middle(sizes['n'])}"}
    for line, (key, (label, unit)) in enumerate(MEASURES.items()):
        for column, (size, below) in enumerate(columns.items()):
            panel = axes[line, column]
            for name, (colour, dashes) in LOOKS.items():
                points = record["layers"][name]["by"][size]
                x, y = [point[size] for point in points], [point[key] / unit for point in points]
                look = {"color": colour, "linestyle": dashes, "linewidth": 1.2, "marker": "o", "markersize": 2.5}
                panel.plot(x, y, label=name, **look)
            panel.set_xscale("log")
            panel.set_yscale("log")
            panel.set_xticks(sizes[size], [f"{each:,}" for each in sizes[size]], fontsize=7)
            panel.xaxis.set_minor_locator(NullLocator())
            panel.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
            if line == 1:
                panel.set_xlabel(below)
        axes[line, 0].set_ylabel(label)
    axes[0, 0].set_title("Against length")
    axes[0, 1].set_title("Against width")
    figure.legend(*axes[0, 0].get_legend_handles_labels(), loc="outside lower center", ncols=4)
    return figure


def main(snakemake: Any) -> None:
    save(draw(read_json(snakemake.input.complexity)), snakemake.output)


if "snakemake" in globals():
    logged(main, snakemake)

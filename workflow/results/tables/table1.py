"""Table 1: complexity, sequential operations and path lengths of layers: the paper's formulas and our measurements."""

from collections.abc import Mapping
from typing import Any

from workflow.results.common.cells import number
from workflow.results.common.drawing import COLOURS, Drawing, panels
from workflow.results.common.figure import Figure
from workflow.results.common.plan import Row
from workflow.results.common.records import read_json, read_yaml
from workflow.results.common.result import Content, Job, Plan, Selection, Table

CAPTION = """\
**Table 1.** The paper gives the complexity of a layer, its sequential operations and the longest path between positions
as formulas. Our measurements stand beside them. See whether the exponents of time and FLOPs are those of n and d in the
formula, and how the counts grow with n.
"""
FIGURE_CAPTION = """\
**Table 1 as a picture.** Time and memory of one layer against length (left) and width (right). Both axes are
logarithmic, so the slope of a line is the exponent. Time is that of a forward and a backward pass, and memory is what
the layer keeps for the backward pass. See where the line of self-attention crosses the line of the recurrent layer, and
how far additive attention is above dot products. A dilated convolution keeps as much memory as one without gaps and
takes about as long, so its line lies on the other's; its path is shorter.
"""


def plan(selection: Selection) -> Plan | None:
    """The measurements."""
    read = {"published": selection.numbers, "complexity": selection.runs.paths.complexity}
    return Plan(read) if "ende" in selection.in_full else None


def table_row(row: Mapping[str, Any], layer: Mapping[str, Any], last: int, middle: int) -> Row:
    """A row of the paper's table with our measurements; milliseconds and memory are those at `middle` and `last` n."""
    exponents = layer["exponents"]
    at = {point["n"]: point for point in layer["by"]["n"]}
    return {
        ("Layer", ""): row["name"],
        ("Complexity", "published"): row.get("complexity", ""),
        **{
            (f"{heading}, exponent", size): number(exponents[size][key], 2)
            for heading, key in (("Time", "seconds"), ("FLOPs", "flops"), ("Memory", "bytes"))
            for size in ("n", "d")
        },
        **{("Milliseconds", f"n {n}"): number(1e3 * at[n]["seconds"] if n in at else None, 2) for n in (middle, last)},
        **{("Memory, MB", f"n {n}"): number(at[n]["bytes"] / 1e6 if n in at else None, 1) for n in (middle, last)},
        ("Sequential operations", "published"): row.get("sequential", ""),
        ("Sequential operations", "counted"): ", ".join(map(str, layer["sequential"].values())),
        ("Longest path", "published"): row.get("path", ""),
        ("Longest path", "counted"): ", ".join(map(str, layer["path"].values())),
    }


def details(layer: Mapping[str, Any]) -> Row:
    """All measurements of a layer; for the csv."""
    points = [point for series in layer["by"].values() for point in series]
    return {
        (key, f"n {point['n']}, d {point['d']}"): f"{point[key]:.4g}"
        for key in ("seconds", "flops", "bytes")
        for point in points
    }


def note(record: Mapping[str, Any]) -> str:
    """What the measurements are of."""
    sizes, layers = record["sizes"], record["layers"]
    fits = " and ".join(f"{size} {fitted(layers, size)}" for size in ("n", "d"))
    return (
        f"Measured on {record['threads']} thread of {record['device']}: n varies at d {middle(sizes['d'])}, d at n "
        f"{middle(sizes['n'])}; k is {sizes['k']}, r {2 * sizes['r'] + 1}, d_k {sizes['d_k']}. Exponents are fitted "
        f"over {fits}. Counted for n {', '.join(layers['self-attention']['path'])}."
    )


def middle(sizes: list[int]) -> int:
    """The size at which the other one varies."""
    return sizes[len(sizes) // 2]


def fitted(layers: Mapping[str, Any], size: str) -> str:
    """The range of sizes over which most layers are fitted, and in brackets those fitted over another."""
    ranges: dict[str, list[str]] = {}
    for name, layer in layers.items():
        fit = layer["exponents"][size]
        ranges.setdefault(f"{fit['from']:,} to {fit['to']:,}", []).append(name)
    most = max(ranges, key=lambda each: len(ranges[each]))
    others = "; ".join(f"{', '.join(names)}: {each}" for each, names in ranges.items() if each != most)
    return f"{most} ({others})" if others else most


def content(job: Job) -> Content:
    """The table and its note."""
    record, published = read_json(job.input.complexity), read_yaml(job.input.published)["table1"]
    lengths, layers = record["sizes"]["n"], record["layers"]
    more = [details(layers[row["layer"]]) for row in published]
    shown = [table_row(row, layers[row["layer"]], lengths[-1], middle(lengths)) for row in published]
    rows = [{**row, **extra} for row, extra in zip(shown, more, strict=True)]
    return Content(rows, 2, [note(record)], csv_only={name for extra in more for _, name in extra})


LOOKS = {  # a variant of a layer has its colour and a dashed line, but the dilated one lies on another line
    "self-attention": (COLOURS[0], "-"),
    "self-attention with projections": (COLOURS[0], "--"),
    "additive self-attention": (COLOURS[1], "-"),
    "recurrent": (COLOURS[2], "-"),
    "convolutional": (COLOURS[3], "-"),
    "convolutional, dilated": (COLOURS[5], ":"),
    "convolutional, separable": (COLOURS[3], "--"),
    "restricted self-attention": (COLOURS[4], "-"),
}
MEASURES = {"seconds": ("time, milliseconds", 1e-3), "bytes": ("memory kept for the backward pass, MB", 1e6)}


def draw(job: Job) -> list[Drawing]:
    """Time and memory, a line for each layer."""
    record = read_json(job.input.complexity)
    figure, axes = panels(2, 2, 7.2, 5.6, sharex="col", sharey="row")
    from matplotlib.ticker import FuncFormatter, NullLocator

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
    return [figure]


RESULTS = (
    Table(
        name="table1",
        section="4",
        title="Table 1: complexity of layers",
        caption=CAPTION,
        plan=plan,
        content=content,
    ),
    Figure(
        name="table1",
        section="4",
        titles={"table1": "Table 1: complexity of layers"},
        caption=FIGURE_CAPTION,
        plan=plan,
        draw=draw,
    ),
)

"""Table 1: complexity, sequential operations and path lengths of layers, the paper's formulas and what was measured."""

from collections.abc import Mapping
from typing import Any

from records import read_json, read_yaml
from tables_common import Row, number, write_table

TITLE = "Table 1: complexity per layer, sequential operations and longest path, published and measured"


def table_row(row: Mapping[str, Any], layer: Mapping[str, Any], last: int, middle: int) -> Row:
    """A row of the paper's table beside one layer; milliseconds and memory are shown at `middle` and `last` n."""
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
    """Everything that was measured."""
    points = [point for series in layer["by"].values() for point in series]
    return {
        (key, f"n {point['n']}, d {point['d']}"): f"{point[key]:.4g}"
        for key in ("seconds", "flops", "bytes")
        for point in points
    }


def notes(record: Mapping[str, Any]) -> list[str]:
    sizes, layers = record["sizes"], record["layers"]
    fits = {
        size: "; ".join(f"{fit['from']:,} to {fit['to']:,}: {name}" for fit, name in grouped(layers, size))
        for size in ("n", "d")
    }
    counted = ", ".join(layers["self-attention"]["path"])
    return [
        f"Measured: forward and backward pass of one layer over one sentence in float32, {record['threads']} thread of "
        f"{record['device']}, the least CPU time of several. n is varied at d {middle(sizes['d'])}, d at n "
        f"{middle(sizes['n'])}; k {sizes['k']}, r {sizes['r']}, heads of d_k {sizes['d_k']}.",
        f"Exponents: slopes of least squares of the logarithms, in n over {fits['n']}; in d over {fits['d']}. Those of "
        "time differ from those of FLOPs where matrices are small, or numbers no longer fit into the caches.",
        "FLOPs: of the matrix products and convolutions, counted as PyTorch executes them. Memory: what is kept for "
        "the backward pass, without weights. Milliseconds and memory: at the middle and the largest n, d "
        f"{middle(sizes['d'])}.",
        "Sequential operations: the longest chain of matrix products or convolutions, each of which needs the one "
        f"before it, for n {counted}.",
        "Longest path: how many layers, or steps of the recurrent one, lead from any position to any other that it can "
        f"reach, for n {counted}. A layer leads to an output from where the output's gradient is not zero. A stack of "
        "dilated convolutions has the dilations 1, k, k^2 ... below n, over and over.",
        "The paper's formulas leave out the projections of self-attention; so do we, but for the row that names them. "
        "Additive attention is measured where it keeps at most 134 MB.",
    ]


def middle(sizes: list[int]) -> int:
    return sizes[len(sizes) // 2]


def grouped(layers: Mapping[str, Any], size: str) -> list[tuple[Mapping[str, Any], str]]:
    """Each range of sizes with the layers that it is fitted over, those of most layers called `all others`."""
    ranges: dict[tuple[int, int], list[str]] = {}
    for name, layer in layers.items():
        fit = layer["exponents"][size]
        ranges.setdefault((fit["from"], fit["to"]), []).append(name)
    most = max(ranges, key=lambda each: len(ranges[each]))
    rest = "all" if len(ranges) == 1 else "all others"
    return [({"from": a, "to": b}, rest if (a, b) == most else ", ".join(ranges[a, b])) for a, b in ranges]


def main(snakemake: Any) -> None:
    record, published = read_json(snakemake.input.complexity), read_yaml(snakemake.input.published)["table1"]
    lengths, layers = record["sizes"]["n"], record["layers"]
    rows = [table_row(row, layers[row["layer"]], lengths[-1], middle(lengths)) for row in published]
    more = [details(layers[row["layer"]]) for row in published]
    write_table(snakemake.output, TITLE, rows, notes(record), names=2, details=more)

"""Report the results of `make gpu` as text, and list what is wrong."""

import re
from collections.abc import Mapping
from typing import Any

from transformer.support.markdown import markdown

KINDS = {  # of kernels: the first one whose pattern is in the name
    "attention": "fmha|flash|sdpa|attn_|cudnn::fusion",
    "products": "nvjet|gemm|splitK|Cijk",
    "loss": "softmax",
    "LayerNorm, with dropout and residual": "layer_norm",
    "Adam and copies of weights": "multi_tensor",
    "all others": "",
}
Results = Mapping[str, Mapping[str, Any]]


def faults(results: Results) -> list[str]:
    """The faults: parts that failed, and steps that wrongly run eager or in float32."""
    wrong = [f"{name}: {part['end']}" for name, part in results.items() if part["end"]]
    for name, part in results.items():
        if part.get("should_compile") and not part["compiled"]:
            wrong.append(f"{name}: steps run eager; PyTorch's compiler was not used (is there a C compiler?)")
        elif part.get("should_compile") and part.get("unfused"):
            wrong.append(f"{name}: steps run eager, at least in part: {', '.join(part['unfused'])}")
        if part.get("precision") != part.get("should_be_in"):
            wrong.append(f"{name}: precision is {part['precision']}, not {part['should_be_in']}")
        elif part.get("precision") == "bfloat16" and part.get("in_float32"):
            wrong.append(f"{name}: float32 where bfloat16 should be: {', '.join(part['in_float32'])}")
    return wrong


def report(results: Results) -> str:
    """The text of README.md."""
    machine = results["machine"]
    texts = [f"# {machine.get('device')}", *(f"- **wrong:** {fault}" for fault in faults(results)), ""]
    if "copy" in machine:
        texts += [_machine(machine)]
    rows = [row for name, part in results.items() for row in _speeds(name, part.get("systems", {}))]
    headings = ["part", "of", "setting", "ms a step", "subwords/s", "x ours", "MFU", "padding", "GB"]
    notes = ["Of training, target subwords with 25,000 on each side of a step; of decoding, subwords of the output."]
    notes += ["Medians of three rounds. results.json has the shapes, the kernels of a step, and more."]
    texts += [markdown("Speeds", headings, rows, notes, 3)] if rows else []
    if profiles := {name: part["profile"] for name, part in results.items() if "profile" in part}:
        texts += [_kinds(profiles)]
    return "\n".join(texts)


def _machine(machine: Mapping[str, Any]) -> str:
    software = ", ".join(f"{name} {version}" for name, version in machine["software"].items())
    parts = [software, f"CUDA {machine['cuda'] or 'none'}", f"C compiler {machine['compiler'] or 'none'}"]
    if "bytes" in machine:
        parts.append("capability {}.{}".format(*machine["capability"]) + f", {machine['bytes'] / 2**30:.0f} GiB")
    reached = [f"{flops / 1e12:.4g} TFLOP/s in {name}" for name, flops in machine["flops"].items()]
    peaks = ", ".join([*reached, f"{machine['copy'] / 1e12:.3g} TB/s in a copy"])
    return "; ".join(parts) + f".\n\nMeasured peaks: {peaks}.\n"


def _speeds(part: str, systems: Results) -> list[list[str]]:
    rows = []
    for name, its in systems.items():
        row = [part, name, its.get("reason") or ", ".join(its.get("setting", []))]
        if "subwords_per_second" in its:
            ours = next(iter(systems.values()))["subwords_per_second"]
            row += [f"{its['ms']:.1f}" if "ms" in its else "", f"{its['subwords_per_second']:,.0f}"]
            row += [f"{its['subwords_per_second'] / ours:.2f}"]
        if "ms" in its:
            row += [f"{100 * its['mfu']:.1f} %", f"{100 * its['padding']:.1f} %", f"{its['bytes'] / 1e9:.2f}"]
        rows.append([*row, *[""] * (9 - len(row))])
    return rows


def kind_of(kernel: str) -> str:
    """The kind of a kernel, by its name."""
    return next(kind for kind, pattern in KINDS.items() if re.search(pattern, kernel))


def _kinds(profiles: Mapping[str, Any]) -> str:
    rows = {kind: [kind] for kind in [*KINDS, "sum"]}
    for kernels in profiles.values():
        sums = dict.fromkeys(rows, 0.0)
        for name, _, ms in kernels:
            sums[kind_of(name)] += ms
            sums["sum"] += ms
        for kind, ms in sums.items():
            rows[kind].append(f"{ms:.2f}")
    notes = ["Kernels by their names; those of the loss are the ones of its probabilities."]
    return markdown("One step, ms", ["kernels", *profiles], list(rows.values()), notes, 1)

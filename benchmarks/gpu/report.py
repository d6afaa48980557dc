"""Report the results of `make gpu` as text, and list what is wrong."""

import re
from collections.abc import Mapping, Sequence
from typing import Any

from transformer.support.markdown import markdown

NOT_STARTED = "not started"  # how a part ends for which no time is left
SHOWN = 15  # the most kernels in a table
KINDS = {  # of kernels: the first one whose pattern is in the name
    "attention": "fmha|flash|sdpa|attn_|cudnn::fusion",
    "products": "nvjet|gemm|splitK|Cijk",
    "loss": "softmax",
    "LayerNorm, with dropout and residual": "layer_norm",
    "Adam and copies of weights": "multi_tensor",
    "all others": "",
}
Results = Mapping[str, Mapping[str, Any]]
Kernel = tuple[str, int, float]  # name, calls, ms


def faults(results: Results) -> list[str]:
    """The faults: parts that failed or found nothing, and steps that wrongly run eager or in float32."""
    wrong = []
    for name, part in results.items():
        wrong += [f"{test}: {error}" for test, error in part.get("failures", {}).items()]
        cut = part["end"].startswith("cut") and has_ours(name, part)
        if part["end"] and part["end"] != NOT_STARTED and not cut:
            wrong.append(f"{name}: {part['end']}")
        if not name.startswith("training") or "compiled" not in part:
            continue
        if part["should_compile"] and not part["compiled"]:
            wrong.append(f"{name}: steps run eager; PyTorch's compiler was not used (is there a C compiler?)")
        elif part["should_compile"] and part.get("unfused"):
            wrong.append(f"{name}: steps run eager, at least in part: {', '.join(part['unfused'])}")
        if part["precision"] != part["should_be_in"]:
            wrong.append(f"{name}: precision is {part['precision']}, not {part['should_be_in']}")
        elif part["precision"] == "bfloat16" and part.get("in_float32"):
            wrong.append(f"{name}: float32 where bfloat16 should be: {', '.join(part['in_float32'])}")
    return wrong


def has_ours(name: str, part: Mapping[str, Any]) -> bool:
    """Whether a part that was stopped has found what matters most."""
    if name == "multi30k":
        return "sacrebleu" in part
    return any(system.startswith("ours") for system in part.get("systems", {}))


def report(results: Results) -> str:
    """The text of README.md."""
    machine = results["machine"]
    wrong = faults(results)
    texts = [f"# {machine['device']}", _machine(machine), *(f"- **wrong:** {fault}" for fault in wrong), ""]
    if "tests" in results:
        texts += [f"Tests marked `gpu`: {_tests(results['tests'])}.", ""]
    training = {name.partition(" ")[2]: part for name, part in results.items() if name.startswith("training")}
    if training:
        texts += [_speeds(training), _steps(training)]
        profiles = {model: part["profile"] for model, part in training.items() if "profile" in part}
        texts += [_kinds(profiles)] if profiles else []
        texts += [_profile(model, rows) for model, rows in profiles.items()]
    if systems := results.get("decoding", {}).get("systems"):
        texts += [_decoding(results["decoding"], systems)]
    if "multi30k" in results:
        texts += [_multi30k(results["multi30k"]), ""]
    texts += [_parts(results)]
    return "\n".join(texts)


def _machine(machine: Mapping[str, Any]) -> str:
    software = ", ".join(f"{name} {version}" for name, version in machine["software"].items())
    parts = [software, f"CUDA {machine['cuda'] or 'none'}", f"C compiler {machine['compiler'] or 'none'}"]
    if "bytes" in machine:
        parts.append("capability {}.{}".format(*machine["capability"]) + f", {machine['bytes'] / 2**30:.0f} GiB")
    reached = [f"{flops / 1e12:.4g} TFLOP/s in {name}" for name, flops in machine.get("flops", {}).items()]
    if "copy" in machine:
        reached.append(f"{machine['copy'] / 1e12:.3g} TB/s in a copy")
    return "; ".join(parts) + ".\n\n" + f"Measured peaks: {', '.join(reached) or 'none'}.\n"


def _tests(part: Mapping[str, Any]) -> str:
    if "summary" in part or "passed" not in part:
        return str(part.get("summary", part["end"]))
    return f"{part['passed']} passed, {len(part.get('failures', {}))} failed; {part['end']}"


def _speeds(training: Results) -> str:
    rows = []
    for model, part in training.items():
        systems = part.get("systems", {"ours": {"reason": part["end"]}})
        for name, its in systems.items():
            if "reason" in its:
                rows.append([model, name, its["reason"], *[""] * 6])
                continue
            ratio = its["subwords_per_second"] / systems["ours"]["subwords_per_second"]
            rows.append(
                [
                    *(model, name, ", ".join(its["setting"])),
                    *(f"{its['ms']:.1f}", f"{its['subwords_per_second']:,.0f}", f"{ratio:.2f}"),
                    *(f"{100 * its['mfu']:.1f} %", f"{100 * its['padding']:.1f} %", f"{its['bytes'] / 1e9:.2f}"),
                ]
            )
    headings = ["model", "of", "setting", "ms a step", "target subwords/s", "x ours", "MFU", "padding", "GB"]
    tokens = next((f"{part['tokens']:,}" for part in training.values() if "tokens" in part), "no")
    notes = [f"{tokens} subwords on each side of a step; medians of three rounds; batches were made before."]
    return markdown("Training", headings, rows, notes, 3)


def _steps(training: Results) -> str:
    headings = ["model", "attention", "shapes", "of which measured", "graphs", "breaks", "without CUDA graph"]
    headings += ["warm-up, s", "packing, ms", "main memory, GB"]
    rows = [
        [
            *(model, ", ".join(part.get("attention", [])) or "written out"),
            *(str(part.get(key, "")) for key in ("shapes", "warm", "graphs", "breaks", "without_cuda_graph")),
            *(f"{part['warming']:.1f}", f"{part['packing_ms']:.1f}", f"{part['main_memory'] / 1e9:.1f}"),
        ]
        for model, part in training.items()
        if "shapes" in part
    ]
    notes = [
        "Warm-up is three steps of each shape, with its compilation. It is shorter if compiled code is still cached.",
        "Packing is the CPU time to make a batch. Main memory is that of all processes, after the warm-up.",
    ]
    return markdown("Steps", headings, rows, notes, 2)


def kind_of(kernel: str) -> str:
    """The kind of a kernel, by its name."""
    return next(kind for kind, pattern in KINDS.items() if re.search(pattern, kernel))


def _kinds(profiles: Mapping[str, Sequence[Kernel]]) -> str:
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


def _profile(model: str, kernels: Sequence[Kernel]) -> str:
    total = sum(ms for *_, ms in kernels) or 1.0
    shown, rest = list(kernels[:SHOWN]), kernels[SHOWN:]
    if rest:
        shown += [(f"{len(rest)} more", sum(calls for _, calls, _ in rest), sum(ms for *_, ms in rest))]
    rows = [
        [name[:90].replace("|", "/"), str(calls), f"{ms:.3f}", f"{100 * ms / total:.1f} %"] for name, calls, ms in shown
    ]
    return markdown(f"One step of {model}", ["kernel", "calls", "ms", "share"], rows, [f"{total:.1f} ms in all."], 1)


def _decoding(part: Mapping[str, Any], systems: Results) -> str:
    rows = []
    for name, its in systems.items():
        speeds = [its.get(f"{unit}_per_second") for unit in ("sentences", "subwords")]
        rows.append([name, its.get("reason", ""), *("" if speed is None else f"{speed:,.0f}" for speed in speeds)])
    notes = [
        f"base, beam {part['beam']}, {part['sentences']} sentences, {part['batch']} in a batch if no others are named."
    ]
    return markdown("Decoding", ["", "why not", "sentences/s", "output subwords/s"], rows, notes, 2)


def _multi30k(part: Mapping[str, Any]) -> str:
    if "steps" not in part:
        return f"`multi30k` was left out: {part.get('reason') or part['end']}."
    text = f"`multi30k`, base: {part['steps']:,} of {part['of']:,} steps in {part['training_seconds']:.0f} s"
    if "sacrebleu" not in part:
        return f"{text}; no BLEU: {part['end']}."
    bleu = f"{part['bleu']:.1f} BLEU" if "bleu" in part else f"no BLEU ({part['missing']} is not installed)"
    return f"{text}; {bleu}, {part['sacrebleu']:.1f} sacreBLEU on test."


def _parts(results: Results) -> str:
    rows = [[name, f"{part['seconds']:.0f}", part["end"] or "done"] for name, part in results.items()]
    return markdown("Parts", ["part", "seconds", "end"], rows, [], 1)

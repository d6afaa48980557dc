"""A description of a package, for people to read."""

from contextlib import suppress
from typing import Any

from transformer.model.config import USED
from transformer.package.config import IDEA
from transformer.package.loading import Package
from transformer.support.strict import listed, plain
from transformer.training.attempts import devices

ROWS = {
    "task": "{task} ({kind}), {source} to {target}",
    "model": "{model}, seed {seed}",
    "architecture": "{architecture}",
    "parameters": "{parameters:,}",
    "vocabulary": "{vocabulary:,} subwords of source and target",
    "corpus": "{corpus} ({description}; {licence})",
    "pairs": "{pairs}",
    "training": "{steps:,} steps, {target_tokens:,} target subwords, {precision}",
    "cost": "{seconds:,.0f} s on {where}, {flops:.2e} FLOPs",
    "made with": "{made_with}",
    "averaged": "{averaged}",
    "decoding": "beam {beam}, alpha {alpha}, at most source + {extra} subwords",
}


def describe(package: Package) -> str:
    """Aligned lines that describe the model, its corpus, its training and its decoding."""
    config = package.config
    sizes = plain(config.architecture)
    if used := USED.get(config.architecture.network):
        sizes = {key: sizes[key] for key in used}
    elif config.architecture.attention_over_parameters:
        del sizes["d_ff"]  # it has no such layers
    if "idea" in sizes:
        sizes["idea"] = IDEA
    known: dict[str, Any] = {
        **vars(config),
        **config.training,
        **config.corpus,
        **vars(config.decoding),
        "architecture": listed(sizes),
        "parameters": sum(parameter.numel() for parameter in package.model.parameters()),
        "averaged": f"checkpoints of steps {', '.join(map(str, config.averaged))}" if config.averaged else "",
    }
    for name, words, record in (
        ("where", devices, config.training),
        ("pairs", listed, config.corpus.get("pairs", {})),
        ("made_with", listed, config.training.get("software", {})),
    ):
        with suppress(KeyError, TypeError, AttributeError):  # of a record that lacks a key or has another kind of value
            known[name] = words(record)
    return "\n".join(f"{name:14}{_filled(text, known)}" for name, text in ROWS.items())


def _filled(text: str, known: dict[str, object]) -> str:
    try:
        return text.format_map(known) or "not recorded"
    except (KeyError, TypeError, ValueError):
        return "not recorded"

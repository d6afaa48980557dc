"""A package's README.md, with the head in YAML that model hubs read."""

import csv
from collections.abc import Mapping, Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any

import yaml

from transformer.model.config import ModelConfig
from transformer.package.config import IDEA, PackageConfig
from transformer.support.files import InputError, read_lines, write_text
from transformer.support.strict import listed, plain
from transformer.training.attempts import devices

README = """\
{head}# {model}, {source} to {target}

{kind_of_network}, trained on {corpus} ({description}; {licence}).

| | |
|---|---|
| model | {sizes} |
| vocabulary | {vocabulary:,} subwords |
| parameters | {parameters:,} |
| training data | {pairs[train]:,} pairs; {left_out:,} with more than {longest_pair} subwords on a side were left out |
| steps | {steps:,} ({target_tokens:,} target subwords), the average of {averaged} checkpoint(s) |
| seed | {seed} |
| dev perplexity | {perplexity} |
{scores}
| cost | {flops:.2g} FLOPs; {hours:.2f} hours on {where}, {precision} |
| made with | {made_with} |
| config | SHA-256 {config_sha256} |

{usage} sentences, one per line:

    python -m transformer {command} --package FOLDER{trust} < sentences > {output}
"""
KINDS = {
    "transformer": 'A Transformer of "Attention Is All You Need" (arXiv 1706.03762)',
    "recurrent": "A recurrent network, LSTMs with attention much like GNMT (arXiv 1609.08144)",
    "convolutional": "A convolutional network with attention, much like ConvS2S (arXiv 1705.03122)",
}
SIZES = ("N", "d_model", "d_ff", "h", "d_k", "d_v", "positions", "attention_over_parameters")
USAGE = {
    "translation": {"usage": "Translate", "command": "translate", "output": "translations"},
    "parsing": {"usage": "Parse", "command": "parse", "output": "trees"},
}
HUBS: dict[str, dict[str, Any]] = {
    "translation": {"pipeline_tag": "translation", "metrics": ["bleu"]},
    "parsing": {"metrics": ["f1"]},
}
LICENCES = ("apache-2.0", "cc-by-nc-sa-4.0", "mpl-2.0")  # those of config/corpora.yaml that hubs know by name


def readme(place: str, config: Mapping[str, Any], history: Path, scores: Sequence[str] = ()) -> str:
    """The text of README.md, with a row for each of the texts `scores`.

    Raises InputError that names `place` when the records of corpus and training in `config` lack a key or have a value
    of another kind, and one that names `history` when that is no history.
    """
    summary = {**config, **config["training"], **config["corpus"], **USAGE[config["kind"]]}
    architecture = plain(config["architecture"])
    network = architecture.pop("network", "transformer")
    if architecture.get("attention_over_parameters"):
        del architecture["d_ff"]  # it has no such layers
    if idea := architecture.get("idea"):
        architecture["idea"] = IDEA
    added = [field.name for field in fields(ModelConfig) if "added" in field.metadata]
    shown = [*SIZES, *added] if network == "transformer" else SIZES[:2]
    measured = _dev_perplexity(history)
    try:
        return README.format(
            **{**summary, "averaged": len(config["averaged"])},
            head=hub_head(config),
            kind_of_network=KINDS[network],
            sizes=listed({name: architecture[name] for name in shown if name in architecture}),
            trust=" --trust-code" if idea else "",
            hours=summary["seconds"] / 3600,
            where=devices(summary),
            perplexity=measured,
            scores="\n".join("| scores | {} |".format(text.replace("|", r"\|")) for text in scores or ["none yet"]),
            made_with=", ".join(f"{name} {version}" for name, version in summary["software"].items()),
        )
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise InputError(
            f"{place}: the records of corpus and training do not fit ({error!r}); make them again"
        ) from error


def hub_head(config: Mapping[str, Any]) -> str:
    """The lines that model hubs read: task, measures, languages (of a parser, the treebank's), data and licence."""
    corpus = config["corpus"]
    licence = corpus["licence"].lower().replace(" ", "-")
    known = {"license": licence} if licence in LICENCES else {"license": "other", "license_name": corpus["licence"]}
    languages = [config["source"], config["target"]] if config["kind"] == "translation" else [config["source"]]
    head = {**HUBS[config["kind"]], "language": languages, "datasets": [corpus["corpus"]], **known}
    return f"---\n{yaml.safe_dump(head, sort_keys=False, allow_unicode=True)}---\n\n"


def write_readme(folder: Path, config: PackageConfig, scores: Sequence[str]) -> None:
    """Write the README.md of a package again, with scores as texts. Raises the errors of `readme`."""
    text = readme(f"{folder}/config.json", vars(config), folder / "history.csv", scores)
    write_text(folder / "README.md", text)


def _dev_perplexity(history: Path) -> str:
    """The last dev perplexity in a history.csv, in words."""
    try:
        measured = [row for row in csv.DictReader(read_lines(history)) if row["dev_perplexity"]]
        if not measured:
            return "not measured"
        perplexity, step = float(measured[-1]["dev_perplexity"]), measured[-1]["step"]
        return f"{perplexity:.2f} per subword, on the start of dev at step {step}, before averaging"
    except (KeyError, ValueError, csv.Error) as error:
        raise InputError(f"{history}: not a history of a training ({error}); give that of this run") from error

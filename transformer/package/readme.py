"""A package's README.md."""

import csv
from collections.abc import Mapping, Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any

from transformer.model.config import ModelConfig
from transformer.package.config import PackageConfig
from transformer.support.files import InputError, read_lines, write_text
from transformer.support.strict import listed, plain
from transformer.training.attempts import devices

README = """\
# {model}, {source} to {target}

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

    python -m transformer {command} --package FOLDER < sentences > {output}
"""
NETWORKS: dict[str, dict[str, Any]] = {
    "transformer": {
        "kind_of_network": 'A Transformer of "Attention Is All You Need" (arXiv 1706.03762)',
        "sizes": ("N", "d_model", "d_ff", "h", "d_k", "d_v", "positions", "attention_over_parameters"),
    },
    "recurrent": {
        "kind_of_network": "A recurrent network, LSTMs with attention much like GNMT (arXiv 1609.08144)",
        "sizes": ("N", "d_model"),
    },
    "convolutional": {
        "kind_of_network": "A convolutional network with attention, much like ConvS2S (arXiv 1705.03122)",
        "sizes": ("N", "d_model"),
    },
}
USAGE = {
    "translation": {"usage": "Translate", "command": "translate", "output": "translations"},
    "parsing": {"usage": "Parse", "command": "parse", "output": "trees"},
}


def readme(place: str, config: Mapping[str, Any], history: Path, scores: Sequence[str] = ()) -> str:
    """The text of README.md, with a row for each of the texts `scores`.

    Raises InputError that names `place` when the records of corpus and training in `config` lack a key or have a value
    of another kind, and one that names `history` when that is no history.
    """
    summary = {**config, **config["training"], **config["corpus"], **USAGE[config["kind"]]}
    architecture = plain(config["architecture"])
    summary |= NETWORKS[architecture.pop("network", "transformer")] | {"averaged": len(config["averaged"])}
    if architecture.get("attention_over_parameters"):
        del architecture["d_ff"]  # it has no such layers
    shown = [*summary["sizes"], *(f.name for f in fields(ModelConfig) if "added" in f.metadata)]
    summary["sizes"] = listed({name: architecture[name] for name in shown if name in architecture})
    measured = _dev_perplexity(history)
    try:
        return README.format(
            **summary,
            hours=summary["seconds"] / 3600,
            where=devices(summary),
            perplexity=measured,
            scores="\n".join("| scores | {} |".format(text.replace("|", r"\|")) for text in scores or ["none yet"]),
            made_with=", ".join(f"{name} {version}" for name, version in summary["software"].items()),
        )
    except KeyError as error:
        raise InputError(
            f"{place}: the key {error} is missing from the records of corpus and training; make the records again"
        ) from error
    except (TypeError, ValueError, AttributeError) as error:
        raise InputError(
            f"{place}: the records of corpus and training do not fit ({error}); make them again"
        ) from error


def write_readme(folder: Path, config: PackageConfig, scores: Sequence[str]) -> None:
    """Write the README.md of a package again, with scores as texts. Raises the errors of `readme`."""
    text = readme(f"{folder}/config.json", vars(config), folder / "history.csv", scores)
    write_text(folder / "README.md", text)


def _dev_perplexity(history: Path) -> str:
    """The last dev perplexity in a history.csv, in words."""
    try:
        rows = csv.DictReader(read_lines(history))
        if "dev_perplexity" not in (rows.fieldnames or ()):
            raise ValueError("it has no column dev_perplexity")
        measured = [row for row in rows if row["dev_perplexity"]]
        if not measured:
            return "not measured"
        last = measured[-1]
        perplexity = f"{float(last['dev_perplexity']):.2f}"
        return f"{perplexity} per subword, on the start of dev at step {last['step']}, before averaging"
    except (KeyError, ValueError, csv.Error) as error:
        raise InputError(f"{history}: not a history of a training ({error}); give that of this run") from error

"""A trained model as a folder that stands alone: its config, weights, subwords, training history and README.md."""

import csv
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import torch
from torch import Tensor

from transformer.config import Decoding, Experiment, ModelConfig
from transformer.data.subwords import Subwords
from transformer.files import InputError, atomic, read_bytes, read_json, read_lines, sha256, write_json, write_lines
from transformer.model.transformer import Transformer
from transformer.strict import ConfigError, load, plain
from transformer.training.checkpoint import read_tensors, write_tensors

HASHED = ("model.safetensors", "subwords.model", "history.csv")
README = """\
# {model}, {source} to {target}

A Transformer of "Attention Is All You Need" (arXiv 1706.03762), trained on {corpus} ({description}; {licence}).

| | |
|---|---|
| model | N {architecture[N]}, d_model {architecture[d_model]}, d_ff {architecture[d_ff]}, h {architecture[h]} |
| vocabulary | {vocabulary:,} subwords |
| parameters | {parameters:,} |
| training data | {pairs[train]:,} pairs, but for {left_out:,} of more than {longest_pair} subwords on a side |
| steps | {steps:,} ({target_tokens:,} target subwords), the average of {averaged} checkpoint(s) |
| seed | {seed} |
| dev perplexity | {perplexity} |
{scores}
| cost | {flops:.2g} FLOPs; {hours:.2f} hours on {devices} x {device}, {precision} |
| made with | {made_with} |
| config | SHA-256 {config_sha256} |

{usage}, a sentence a line:

    python -m transformer {command} --package FOLDER < sentences > {output}
"""
USAGE = {
    "translation": {"usage": "Translate", "command": "translate", "output": "translations"},
    "parsing": {"usage": "Parse", "command": "parse", "output": "trees"},
}


@dataclass(frozen=True)
class PackageConfig:
    """config.json: the model, how to decode with it, what it was made of, and the SHA-256 of the files beside it."""

    task: str
    kind: Literal["translation", "parsing"]
    model: str
    seed: int
    source: str
    target: str
    architecture: ModelConfig
    vocabulary: int
    decoding: Decoding
    averaged: tuple[int, ...]
    corpus: dict[str, Any]
    training: dict[str, Any]
    sha256: dict[str, str]


@dataclass(frozen=True)
class Package:
    """A model ready to use."""

    config: PackageConfig
    model: Transformer
    subwords: Subwords


def save_package(
    folder: Path, config: Mapping[str, Any], weights: Mapping[str, Tensor], subwords: Path, history: Path
) -> None:
    """Write a package; `config` gives the keys of PackageConfig but sha256.

    Raises InputError as `atomic` does, and when the corpus or the training lack a key that README.md names.
    """
    readme = _readme(str(folder), config, history, [])
    write_tensors(folder / "model.safetensors", weights, {"model": config["model"], "task": config["task"]})
    for name, source in (("subwords.model", subwords), ("history.csv", history)):
        with atomic(folder / name) as stream:
            stream.write(read_bytes(source))
    hashes = {name: sha256(folder / name) for name in HASHED}
    write_lines(folder / "README.md", readme.splitlines())
    write_json(folder / "config.json", {**plain(config), "sha256": hashes})


def write_readme(folder: Path, scores: Sequence[Path]) -> None:
    """Write a package's README.md again, with scores: files of `score`.

    Raises InputError as `read_package_config` does, and for what is no score, or one of another package.
    """
    config = read_package_config(folder)
    made = {"task": config.task, "model": config.model, "seed": config.seed, "average": len(config.averaged)}
    rows = []
    for path in scores:
        score = read_json(path)
        if (found := {key: score.get(key) for key in made}) != made:
            raise InputError(f"{path}: scores of {found}, and {folder} is {made}; give those of this package")
        try:
            text = _row(score).replace("|", "\\|")
        except (KeyError, TypeError, ValueError) as error:
            raise InputError(f"{path}: not as `score` writes it ({error!r}); score again") from error
        rows.append(f"| scores | {text} |")
    readme = _readme(f"{folder}/config.json", vars(config), folder / "history.csv", rows)
    write_lines(folder / "README.md", readme.splitlines())


def _readme(place: str, config: Mapping[str, Any], history: Path, scores: Sequence[str]) -> str:
    """The text of README.md; `scores` are rows of its table."""
    summary = {**config, **config["training"], **config["corpus"], **USAGE[config["kind"]]}
    summary |= {"averaged": len(config["averaged"]), "architecture": plain(config["architecture"])}
    try:
        return README.format(
            **summary,
            hours=summary["seconds"] / 3600,
            perplexity=_dev_perplexity(history),
            scores="\n".join(scores) or "| scores | none yet |",
            made_with=", ".join(f"{name} {version}" for name, version in summary["software"].items()),
        )
    except KeyError as error:
        raise InputError(
            f"{place}: neither the record of the corpus nor that of the training has the key {error}; make them again"
        ) from error


def _row(score: Mapping[str, Any]) -> str:
    """The scores of a part, in words."""
    text = f"{score['part']}, {score['sentences']:,} sentences, beam {score['beam']}, alpha {score['alpha']}: "
    if brackets := score.get("brackets"):
        text += "F1 {f1:.1f} (recall {recall:.1f}, precision {precision:.1f}, as EVALB)".format(**brackets)
    else:
        bleus = {"BLEU": score["sacrebleu"], "BLEU as the paper's script counts": score["paper_bleu"]}
        text += ", ".join(f"{name} {bleu['score']:.1f} ({bleu['signature']})" for name, bleu in bleus.items())
    return f"{text}; perplexity of a subword {score['perplexity']:.2f}"


def _dev_perplexity(history: Path) -> str:
    """The last that a history.csv has, in words."""
    measured = [row for row in csv.DictReader(read_lines(history)) if row.get("dev_perplexity")]
    if not measured:
        return "not measured"
    last = measured[-1]
    return (
        f"{float(last['dev_perplexity']):.2f} a subword, of the start of dev at step {last['step']}, before averaging"
    )


def read_package_config(folder: Path) -> PackageConfig:
    """A package's config. Raises InputError naming the file that is missing, damaged or not of this package."""
    path = folder / "config.json"
    if not path.is_file():
        raise InputError(f"{folder}: no package (it has no config.json); name a folder that `train` or `package` made")
    try:
        config = load(PackageConfig, json.loads(read_bytes(path)), str(path))
    except ValueError as error:
        raise InputError(f"{path}: not JSON ({error}); make the package again") from error
    except ConfigError as error:
        raise InputError(f"{error}\n  (a package of another version, or none of ours)") from error
    for name in HASHED:
        if (got := sha256(folder / name)) != (expected := config.sha256.get(name)):
            raise InputError(f"{folder / name}: SHA-256 {got}, expected {expected}; make the package again")
    return config


def check_origin(folder: Path, experiment: Experiment, place: str) -> None:
    """Raises InputError when a package is damaged, or not what `experiment` would make at `place`.

    `place`: task/model/seed/average-N.
    """
    config = read_package_config(folder)
    if (found := f"{config.task}/{config.model}/{config.seed}/average-{len(config.averaged)}") != place:
        raise InputError(f"{folder}: the package of {found}, not of {place}; put that one here")
    if missing := sorted({"config_sha256", "software"} - config.training.keys()):
        raise InputError(f"{folder}: its training lacks {', '.join(missing)}, as of an earlier version; train it again")
    task, run = experiment.tasks[config.task], experiment.run(config.task, config.model, config.seed)
    expected = {
        **{key: getattr(task, key) for key in ("kind", "corpus", "source", "target", "vocabulary")},
        "averaged": tuple(sorted(run.training.checkpoint_steps()[: len(config.averaged)])),
        **plain(run.architecture),
    }
    given = {**vars(config), "corpus": config.corpus.get("corpus"), **plain(config.architecture)}
    for key, value in expected.items():
        if given[key] != value:
            raise InputError(
                f"{folder}: its {key} is {given[key]}, the experiment's {value}; give packages of this experiment"
            )


def load_package(folder: Path, device: torch.device) -> Package:
    """Read a package. Raises InputError as `read_package_config` does, and when the weights do not fit the config."""
    folder = Path(folder)
    config = read_package_config(folder)
    weights, _ = read_tensors(folder / "model.safetensors")
    model = Transformer(config.architecture, config.vocabulary)
    shapes = {name: tensor.shape for name, tensor in model.state_dict().items()}
    if shapes != {name: tensor.shape for name, tensor in weights.items()}:
        raise InputError(
            f"{folder}: model.safetensors is not of the architecture in config.json; make the package again"
        )
    model.load_state_dict(weights)
    return Package(config, model.to(device).eval(), Subwords(folder / "subwords.model"))

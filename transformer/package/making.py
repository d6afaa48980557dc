"""Make a package: a trained model as a folder that stands alone, with its config, weights, subwords and README.md."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from numpy.typing import ArrayLike

from transformer.package.config import HASHED, IDEA, Decoding, PackageConfig, TaskKind, signed
from transformer.package.readme import readme
from transformer.support.arrays import read_metadata, write_arrays
from transformer.support.files import InputError, atomic, read_bytes, read_json, sha256, write_json, write_text
from transformer.support.strict import load, plain, read_config
from transformer.text.subwords import Subwords
from transformer.text.tokens import vocabulary_name
from transformer.training.average import average
from transformer.training.config import RunConfig


def save_package(
    folder: Path, config: Mapping[str, Any], weights: Mapping[str, ArrayLike], subwords: Path, history: Path
) -> None:
    """Write a package. `config` has the keys of PackageConfig except sha256.

    Raises InputError when `read_package_config` would refuse it, and when its corpus or training lack a key that
    README.md shows. Raises the errors of `atomic`.
    """
    load(PackageConfig, {**plain(config), "sha256": {}}, str(folder))
    text = readme(str(folder), config, history)
    write_arrays(folder / "model.safetensors", weights, {"model": config["model"], "task": config["task"]})
    for name, source in (("subwords.model", subwords), ("history.csv", history)):
        with atomic(folder / name) as stream:
            stream.write(read_bytes(source))
    if (idea := plain(config["architecture"]).get("idea")) is not None:
        write_text(folder / IDEA, idea)
    hashes = {name: sha256(folder / name) for name in HASHED}
    write_text(folder / "README.md", text)
    write_json(folder / "config.json", signed({**plain(config), "sha256": hashes}))


def make_package(
    folder: Path,
    config: Path,
    kind: TaskKind,
    decoding: Decoding,
    checkpoints: Sequence[Path],
    corpus: Path,
    training: Path,
    subwords: Path,
    history: Path,
) -> None:
    """Average checkpoints of the run that `config` describes, and write a package.

    `corpus` is corpus.json and `training` is training.json. Raises InputError for a file that cannot be read, a
    checkpoint or record of another config or of other subwords, and a checkpoint that is given twice; also the errors
    of `average` and `save_package`.
    """
    run, text, trained = read_config(RunConfig, config), read_json(corpus), read_json(training)
    learnt, steps = Subwords(subwords), []
    wanted = {"config": plain(run), "vocabulary": vocabulary_name(len(learnt), learnt.sha256)}
    for path in checkpoints:
        metadata = read_metadata(path)
        try:
            made = {key: json.loads(metadata[key]) for key in (*wanted, "step")}
        except (KeyError, ValueError, RecursionError):
            made = {}
        for key, file in (("config", config), ("vocabulary", subwords)):
            if made.get(key) != wanted[key]:
                raise InputError(f"{path}: this is no checkpoint of a run with {file}; give checkpoints of its run")
        steps.append(made["step"])
    if trained.get("config_sha256") != run.sha256():
        raise InputError(f"{training}: this record is not of a run of {config}; give training.json of its run")
    weights = average(checkpoints)
    if len(set(steps)) < len(steps):
        raise InputError(f"{', '.join(map(str, checkpoints))}: two are of the same step; give each checkpoint once")
    record = {
        "task": run.task,
        "kind": kind,
        "model": run.model,
        "seed": run.seed,
        "source": text["source"],
        "target": text["target"],
        "architecture": plain(run.architecture),
        "vocabulary": len(learnt),
        "decoding": plain(decoding),
        "averaged": sorted(steps),
        "corpus": text,
        "training": trained,
    }
    save_package(folder, record, weights, subwords, history)

"""A trial: the check of its row before anything runs, and the released runs that it is compared with."""

import gzip
import tarfile
import zlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from io import BytesIO
from pathlib import Path
from typing import Any

from transformer.evaluation.statistics import SEEDS
from transformer.model.config import ModelConfig, last_position
from transformer.support.faults import ConfigError, Fault, Keys, source_of
from transformer.support.files import InputError, read_json
from transformer.support.strict import plain
from transformer.training.config import RunConfig, TrainingConfig
from workflow.experiment.config import Experiment
from workflow.experiment.sources import RELEASED
from workflow.experiment.tasks import Trial

SAME = ("steps", "batch_tokens", "longest_pair")  # both rows learn from the same batches


@dataclass(frozen=True)
class Released:
    """A released run: its scores on dev, and the record of its package."""

    scores: Mapping[str, Any]
    package: Mapping[str, Any]


def archives() -> list[Path]:
    """The released scores (rule `scores`). Raises InputError if another folder hides those of the clone."""
    if not RELEASED.is_dir():
        raise InputError(
            f"{RELEASED}: no such folder; get it back with `git restore results`. If `results` is a link or a mounted "
            "folder, name that folder with --config results=FOLDER instead"
        )
    return sorted(RELEASED.glob("*/scores.tar.gz"))


def released(experiment: Experiment, model: str, paths: Sequence[Path]) -> dict[int, Released]:
    """The released runs of a model by seed: those that `experiment` would train and decode alike.

    Each seed of each archive counts, also one that the experiment does not have. Nothing is unpacked.
    Raises InputError for an archive that cannot be read.
    """
    task = experiment.tasks[experiment.drawn[0]]
    expected = {key: getattr(task, key) for key in ("kind", "source", "target", "vocabulary")}
    expected |= {"decoding": plain(task.decoding)}
    found: dict[int, Released] = {}
    for path in paths:
        for folder, read in _runs(path, f"{experiment.drawn[0]}/{model}", experiment.table3_average):
            seed = int(folder.rpartition("/")[2])
            package = read("package/config.json")
            alike = {key: package.get(key) for key in expected} == expected
            same = package["training"]["config_sha256"] == experiment.run(experiment.drawn[0], model, seed).sha256()
            if alike and same and package["corpus"]["corpus"] == task.corpus:
                found.setdefault(seed, Released(read("dev.scores.json"), package))
    return dict(sorted(found.items()))


def _runs(path: Path, run: str, average: int) -> Iterator[tuple[str, Any]]:
    """The folders of the seeds of a run in an archive, each with a function that reads a JSON file of an average."""
    try:
        content = BytesIO(gzip.decompress(path.read_bytes()))  # this compares it with its checksum; tarfile does not
        with tarfile.open(fileobj=content) as archive:
            members = {member.name: member for member in archive if f"/runs/{run}/" in member.name}

            def read(folder: str, name: str) -> Any:
                member = members[f"{folder}/average-{average}/{name}"]
                stream = archive.extractfile(member)
                return read_json(path / member.name, stream.read() if stream else b"")

            end = f"/average-{average}/package/config.json"
            for folder in (name.removesuffix(end) for name in members if name.endswith(end)):
                if f"{folder}/average-{average}/dev.scores.json" in members:
                    yield folder, lambda name, folder=folder: read(folder, name)
    except (OSError, EOFError, tarfile.TarError, zlib.error, ValueError) as error:
        raise InputError(f"{path}: cannot be read ({error}); get the file of the clone again") from error


def check_trial(experiment: Experiment, sources: Mapping[str, Mapping[str, Any]], paths: Sequence[Path]) -> None:
    """Raises ConfigError if a trial cannot be judged: each fault with its source, the value and the remedy."""
    if experiment.trial is None:
        return
    try:
        faults = [Fault(*fault) for fault in _faults(experiment, experiment.trial, paths)]
    except ConfigError as error:
        faults = list(error.faults)
    if faults:
        raise ConfigError("", [fault._replace(source=source_of(fault.keys, sources)) for fault in faults])


def _faults(experiment: Experiment, trial: Trial, paths: Sequence[Path]) -> Iterator[tuple[Keys, str]]:
    task = experiment.drawn[0]
    if experiment.tasks[task].kind != "translation":
        yield ("figures", "task"), f"{task} is a task of parsing, and a trial needs translations; name another"
        return
    if experiment.packages:
        yield ("packages",), "with given packages nothing is trained, and a trial trains; remove this key"
    row, against = (experiment.run(task, name, 0) for name in (trial.row, trial.against))
    known = released(experiment, trial.against, paths)
    if not known:
        text = f"{trial.against} has no released scores with the values, text and decoding of {experiment.experiment}"
        remedy = "give --configfile config/small.yaml first, name another row, or train a base of your own"
        if new := _new_keys(against, experiment.table3_average, paths):
            text += f": its released configs have no {new}"
            remedy = "declare a new key with `added` and a default that changes nothing"
        yield ("trial", "against"), f"{text}; {remedy} (docs/own-idea.md)"
        return
    if len(known) < SEEDS:
        text = f"{trial.against} of {experiment.experiment} is released with {len(known)} seed"
        remedy = f"a trial needs {SEEDS} or more: give --configfile config/small.yaml first"
        yield ("trial", "against"), f"{text}{'s' * (len(known) > 1)}, and {remedy} (docs/own-idea.md)"
        return
    yield from _compared(trial, row, against, experiment.table3_average)
    if twin := _twin(experiment, trial, row, paths):
        same = "it" if twin == trial.row else f"{twin}, the same model at this scale,"
        yield ("trial", "row"), f"{trial.row}: {same} has released scores (Table 3, docs/results.md); change a value"
    if len(experiment.seeds) < SEEDS:
        yield ("seeds",), f"{len(experiment.seeds)} are too few; a trial needs {SEEDS} or more"
    if missing := [seed for seed in experiment.seeds if seed not in known]:
        shown, others = ", ".join(map(str, missing)), ", ".join(map(str, known))
        yield ("seeds",), f"{shown}: {trial.against} is not released with this seed; choose from {others}"


def _new_keys(run: RunConfig, average: int, paths: Sequence[Path]) -> str:
    """The keys of the architecture of a run that its released configs do not have, if it has such configs."""
    known = {
        key
        for path in paths
        for _, read in _runs(path, f"{run.task}/{run.model}", average)
        for key in read("package/config.json")["architecture"]
    }
    return ", ".join(sorted(plain(run.architecture).keys() - known)) if known else ""


def _twin(experiment: Experiment, trial: Trial, row: RunConfig, paths: Sequence[Path]) -> str:
    """The model of the task that is the same as the tried row, other than the one it is compared with, if released."""
    task = experiment.drawn[0]
    for name in experiment.tasks[task].models:
        other = experiment.run(task, name, 0)
        average = experiment.table3_average
        if name != trial.against and _scored(other, average) == _scored(row, average):
            return name if {*experiment.seeds} <= released(experiment, name, paths).keys() else ""
    return ""


def _scored(run: RunConfig, average: int) -> tuple[ModelConfig, TrainingConfig, list[int]]:
    """What decides the scores of a run if `average` checkpoints are averaged.

    Without what does not: how many further checkpoints there are, and the number of learned positions of a model that
    has none.
    """
    architecture = run.architecture
    if last_position(architecture) is None:
        architecture = replace(architecture, max_length=1)
    checkpoints = run.training.checkpoint_steps()[:average]
    return architecture, replace(run.training, checkpoint_every=1, average=1), checkpoints


def _compared(trial: Trial, row: RunConfig, against: RunConfig, average: int) -> Iterator[tuple[Keys, str]]:
    """The faults of two rows that are the same, or that do not learn from the same batches."""
    if _scored(row, average) == _scored(against, average):
        text = f"{trial.row} is the same model as {trial.against} at this scale; change a value of it"
        if (row.architecture, row.training) != (against.architecture, against.training):
            text += " that changes its scores"
        yield ("trial", "row"), text
    for key in SAME:
        ours, theirs = getattr(row.training, key), getattr(against.training, key)
        if ours != theirs:
            text = f"{ours}, but {trial.against} has {theirs}; a trial needs rows that learn from the same batches"
            yield ("models", trial.row, key), f"{text}: write {theirs}"

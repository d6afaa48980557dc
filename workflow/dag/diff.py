"""What a config would destroy: runs in its folder of results whose records differ from it."""

import json
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from transformer.corpora.self_training import SelfTraining
from transformer.support.files import InputError
from transformer.support.strict import plain, read_keys
from workflow.dag.inputs import Inputs

RECORD = "training.json"  # of a finished run
SHOWN = 4  # keys of a record


class Diff:
    """The config that is to be run, beside the records in its folder of results."""

    def __init__(self, inputs: Inputs):
        self.inputs, self.experiment, self.runs = inputs, inputs.experiment, inputs.runs
        self.results, self.said = Path(inputs.paths.results), False
        self.of_text, self.of_vocabulary, self.of_run = cache(self._text), cache(self._vocabulary), cache(self._run)

    def told(self, task: str, model: str, seed: int, *, allowed: bool, dry: bool) -> str:
        """The runs that would be lost, with the keys that differ, once this run is among those asked for. Told once.

        They are runs of the experiment. Runs that it leaves out are kept. Raises InputError with the same text if a
        finished run is among them, unless the user has `allowed` it or it is a `dry` run.
        """
        if self.said or not self.of_run(task, model, seed):
            return ""
        self.said = True
        lost: dict[str, list[str]] = {}
        finished = False
        for run in dict.fromkeys([*self._runs(), (task, model, seed)]):
            if keys := self.of_run(*run):
                finished |= (ended := self._finished(*run))
                lost.setdefault("; ".join(keys), []).append(" ".join(map(str, run)) + " (unfinished)" * (not ended))
        text = f"these runs in {self.results} are of another config and would be trained again:"
        text += "".join(f"\n  {', '.join(names)}: {keys}" for keys, names in lost.items())
        if not allowed:
            text += "\ngive what differs a name of its own (experiment: mine), or replace them: --config replace=true"
        if finished and not (allowed or dry):
            raise InputError(text)
        return text

    def _runs(self) -> list[tuple[str, str, int]]:
        """The runs of the experiment, and those of its trial."""
        rows = [(task, model) for task, models in self.runs.trained.items() for model in models]
        tried = [(self.experiment.drawn[0], row, seed) for row, seeds in self.runs.tried.items() for seed in seeds]
        return [(task, model, seed) for task, model in rows for seed in self.experiment.seeds_of(task, model)] + tried

    def _finished(self, task: str, model: str, seed: int) -> bool:
        return (self.results / f"runs/{task}/{model}/{seed}/{RECORD}").exists()

    def _run(self, task: str, model: str, seed: int) -> list[str]:
        """What differs from the records of a run that has begun, of its text and of its vocabulary."""
        folder = self.results / f"runs/{task}/{model}/{seed}"
        if not (self._finished(task, model, seed) or (folder / "state").exists()):
            return []
        run = self.experiment.run(task, model, seed)
        if _read_json(folder / RECORD).get("config_sha256") == run.sha256():
            own = []
        else:
            own = _differing("config", folder / "config.yaml", plain(run))
        return list(dict.fromkeys([*own, *self.of_text(task), *self.of_vocabulary(task)]))

    def _text(self, task: str) -> list[str]:
        """What differs from the records of a task's text, of the texts that it is made from, and of its parser."""
        corpus, record = self.experiment.corpus_of(task), Path(self.inputs.paths.corpus(task), "config.yaml")
        found = []
        if record.exists():
            found = _differing(f"text of {task}", record, self.inputs.task_corpus(SimpleNamespace(task=task)))
        for other in corpus.read(self.experiment.corpus_of):
            found += self.of_text(other)
        if isinstance(corpus, SelfTraining):
            parser = self.runs.run_of[corpus.gold, corpus.parser]
            found += self.of_run(corpus.gold, parser, self.experiment.seeds[0])
            [package] = self.runs.packages_behind([self.runs.parses_of(corpus)])
            now = plain(self.experiment.tasks[corpus.gold].decoding)
            found += _named(f"decoding of {corpus.gold}", _read_json(Path(package)).get("decoding", now), now)
        return found

    def _vocabulary(self, task: str) -> list[str]:
        """What differs from the record of a task's vocabulary. Earlier versions wrote none."""
        record = self.results / f"subwords/{task}.yaml"
        now = self.inputs.vocabulary_config(SimpleNamespace(task=task))
        return _differing(f"vocabulary of {task}", record, now) if record.exists() else []


def _read_json(path: Path) -> dict[str, Any]:
    """The object in a file. Empty if the file is missing or damaged."""
    try:
        value = json.loads(path.read_bytes())
    except (OSError, ValueError):
        return {}
    return value if isinstance(value, dict) else {}


def _differing(name: str, record: Path, now: Any) -> list[str]:
    """The keys of a record that differ. A record that cannot be read differs: what it described is not known."""
    try:
        return _named(name, read_keys(record), now)
    except InputError:
        return [f"{name} ({record} is missing or damaged)"]


def _named(name: str, before: Any, now: Any) -> list[str]:
    keys = list(_different(before, now))
    return [f"{name} ({', '.join(keys[:SHOWN] + ['...'] * bool(keys[SHOWN:]))})"] if keys else []


def _different(one: Any, other: Any, place: str = "") -> Iterator[str]:
    """The keys of all values that differ, those of inner mappings behind points."""
    if isinstance(one, Mapping) and isinstance(other, Mapping):
        for key in dict.fromkeys([*one, *other]):
            yield from _different(one.get(key), other.get(key), f"{place}.{key}" if place else str(key))
    elif one != other:
        yield place

"""What a config would destroy: runs in its folder of results whose records differ from it."""

import json
from collections.abc import Iterator, Mapping
from functools import cache, cached_property
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from transformer.corpora.self_training import SelfTraining
from transformer.support.files import InputError
from transformer.support.strict import plain, read_keys
from workflow.dag.inputs import Inputs
from workflow.experiment.downloads import tasks_read

RECORD = "training.json"  # of a finished run
SHOWN = 4  # keys of a record


Run = tuple[str, str, int]  # task, model and seed


class Diff:
    """The config that is to be run, beside the records in its folder of results."""

    def __init__(self, inputs: Inputs):
        self.inputs, self.experiment, self.runs = inputs, inputs.experiment, inputs.runs
        self.results, self.said = Path(inputs.paths.results), False
        self.of_text, self.of_vocabulary = cache(self._text), cache(self._vocabulary)

    def told(self, what: str, wildcards: Any, *, allowed: bool, dry: bool) -> str:
        """All runs that would be lost, with what differs, if making this run, text or vocabulary would lose one.

        It is told once. Raises InputError with the same text if it would lose a finished run, unless the user has
        `allowed` it or this is a `dry` run.
        """
        lost = self.lost
        if what == "run":
            run = (wildcards.task, wildcards.model, int(wildcards.seed))
            doomed = {run: keys} if (keys := self.differences(*run)) else {}
            lost = {**lost, **doomed}
        else:
            own = f"{what} of {wildcards.task} "
            doomed = {run: keys for run, keys in lost.items() if any(key.startswith(own) for key in keys)}
        refused = any(map(self._finished, doomed)) and not (allowed or dry)
        if not doomed or (self.said and not refused):
            return ""
        self.said = True
        rows: dict[str, dict[str, list[str]]] = {}  # what differs -> task and model -> seeds
        for (task, model, seed), keys in lost.items():
            seeds = rows.setdefault("; ".join(keys), {}).setdefault(f"{task} {model}", [])
            seeds.append(f"{seed}{'' if self._finished((task, model, seed)) else ' (unfinished)'}")
        text = f"these runs in {self.results} are of another config and would be trained again:"
        for differing, some in rows.items():
            text += f"\n  {', '.join(' '.join([row, *seeds]) for row, seeds in some.items())}: {differing}"
        if not allowed:
            text += "\ngive what differs a name of its own (experiment: mine), or replace them: --config replace=true"
        if refused:
            raise InputError(text)
        return text

    @cached_property
    def lost(self) -> dict[Run, list[str]]:
        """The runs in the folder that would be lost, and what differs. A run that is left out only loses its text."""
        rows = [(task, model) for task, models in self.runs.trained.items() for model in models]
        wanted = {(task, model, seed) for task, model in rows for seed in self.experiment.seeds_of(task, model)}
        wanted |= {(self.experiment.drawn[0], row, seed) for row, seeds in self.runs.tried.items() for seed in seeds}
        lost, read = {}, tasks_read(self.experiment)
        for path in sorted(self.results.glob("runs/*/*/*")):
            task, model, seed = path.parts[-3:]
            if task in read and seed.isdecimal():
                run = (task, model, int(seed))
                if keys := self.differences(*run, own=run in wanted):
                    lost[run] = keys
        return lost

    def _finished(self, run: Run) -> bool:
        return Path(self.results, "runs", *map(str, run), RECORD).exists()

    def differences(self, task: str, model: str, seed: int, *, own: bool = True) -> list[str]:
        """What differs from the records of a run that has begun (unless not `own`), of its text and its vocabulary.

        The file of an idea may change: the ledger keeps what was found with the earlier one.
        """
        folder, differing = self.results / f"runs/{task}/{model}/{seed}", []
        if not (folder / RECORD).exists() and not (folder / "state").exists():
            return []
        if own and "idea" not in self.experiment.models.get(model, ()):
            run = self.experiment.run(task, model, seed)
            if _read_json(folder / RECORD).get("config_sha256") != run.sha256():
                differing = _differing("config", folder / "config.yaml", plain(run))
        return list(dict.fromkeys([*differing, *self.of_text(task), *self.of_vocabulary(task)]))

    def _text(self, task: str) -> list[str]:
        """What differs from the records of a task's text, of the texts that it is made from, and of its parser."""
        corpus, record = self.experiment.corpus_of(task), Path(self.inputs.paths.corpus(task), "config.yaml")
        now = self.inputs.task_corpus(SimpleNamespace(task=task))
        if record.exists():
            found = _differing(f"text of {task}", record, now)
        else:
            names = {"corpus": now["name"], "source": now["source"], "target": now["target"]}
            found = self._by_package(f"text of {task}", task, names)
        for other in corpus.read(self.experiment.corpus_of):
            found += self.of_text(other)
        if isinstance(corpus, SelfTraining):
            parser = self.runs.run_of[corpus.gold, corpus.parser]
            found += self.differences(corpus.gold, parser, self.experiment.seeds[0])
            [package] = self.runs.packages_behind([self.runs.parses_of(corpus)])
            now = plain(self.experiment.tasks[corpus.gold].decoding)
            found += _named(f"decoding of {corpus.gold}", _read_json(Path(package)).get("decoding", now), now)
        return found

    def _vocabulary(self, task: str) -> list[str]:
        """What differs from the record of a task's vocabulary. Earlier versions wrote none."""
        record, now = self.results / f"subwords/{task}.yaml", self.inputs.vocabulary_config(SimpleNamespace(task=task))
        if record.exists():
            return _differing(f"vocabulary of {task}", record, now)
        return self._by_package(f"vocabulary of {task}", task, {key: now[key] for key in ("kind", "vocabulary")})

    def _by_package(self, name: str, task: str, now: Mapping[str, Any]) -> list[str]:
        """What differs from a package of a task, where the record of its text or vocabulary is gone."""
        for path in self.results.glob(f"runs/{task}/*/*/average-*/package/config.json"):
            if package := _read_json(path):
                package["corpus"] = package["corpus"]["corpus"]
                return _named(name, {key: package.get(key) for key in now}, now)
        return []


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

"""The config of one experiment: everything in config/*.yaml together."""

import dataclasses
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

from transformer.corpora.fetch import Download
from transformer.corpora.kinds import Corpus
from transformer.corpora.parts import Kind
from transformer.evaluation.layer_sizes import LayerSizes
from transformer.experiment.claims import KINDS, Claim
from transformer.experiment.scale import Scale
from transformer.experiment.tasks import Figures, Searches, Task, way
from transformer.length.config import Study
from transformer.model.config import RECURRENT, TRANSFORMER, ModelConfig
from transformer.package.config import Decoding
from transformer.support.files import InputError
from transformer.support.strict import (
    ConfigError,
    fill,
    load,
    merge,
    not_a_seed,
    read_keys,
    repeated,
    unknown,
)
from transformer.text.subwords import Sample
from transformer.training.config import RunConfig, TrainingConfig

Overrides = Annotated[dict[str, Any], ModelConfig, TrainingConfig]  # any keys of both


AUTO_WIDTH = 64  # smallest d_model of base at which `precision: auto` depends on the hardware (docs/speed.md)


@dataclass(frozen=True)
class Experiment:
    """The whole config of one experiment."""

    experiment: str
    results: str
    mirror: str | None
    packages: str | None
    notes: tuple[str, ...]
    seeds: tuple[int, ...]
    scale: Scale
    subwords: Sample
    table3_average: int
    figures: Figures
    searches: Searches | None
    table1: LayerSizes
    tasks: dict[str, Task]
    models: dict[str, Overrides]
    corpora: dict[str, Corpus]
    downloads: dict[str, Download]
    length: Study
    claims: dict[str, Claim]

    def faults(self) -> list[str]:
        """A message for each value that does not fit the others, across all runs."""
        found = [fault for seed in self.seeds for fault in not_a_seed("seeds", seed)] + repeated("seeds", self.seeds)
        models = dict.fromkeys(model for task in self.tasks.values() for model in task.models)
        for noun, names in (("experiment", [self.experiment]), ("tasks", self.tasks), ("models", models)):
            for name in names:
                if not re.fullmatch(r"[^\W_][\w.-]*", name):
                    found.append(f"{noun}: {name!r} cannot name a folder; use letters, digits, then ., - and _, too")
        if self.experiment == "downloads":
            found.append("experiment: `downloads` is the folder that all experiments share; choose another name")
        for key in ("results", "packages", "mirror"):
            folder = getattr(self, key) or ""
            if re.search("[{}]|^~", folder):
                why = "~ is not your home here" if folder[0] == "~" else "{ and } are special to Snakemake"
                found.append(f"{key}: {folder!r}: {why}; use another name")
        if not self.seeds:
            found.append("seeds: is empty; give at least one")
        if "base" not in self.models:
            return [*found, "models: base is missing; every row is an override of it"]
        if self.models["base"].get("network") == "recurrent":
            return [*found, "models.base.network: must be transformer, not recurrent; add a row of your own for it"]
        for name, task in self.tasks.items():
            if task.corpus not in self.corpora:
                found.append(f"tasks.{name}.corpus: " + unknown(task.corpus, self.corpora, "corpus"))
            for model in task.models:
                if model not in self.models:
                    found.append(f"tasks.{name}.models: " + unknown(model, self.models, "model"))
            corpus = self.corpora.get(task.corpus)
            if corpus is None or not task.models:
                continue
            if task.kind == "parsing" and not corpus.has_trees:
                found.append(f"tasks.{name}.corpus: {task.corpus} has no trees, from which a parser learns")
            for key, named in corpus.tasks().items():
                if named not in self.tasks:
                    found.append(f"corpora.{task.corpus}.{key}: " + unknown(named, self.tasks, "task"))
                elif key == "gold" and not self._is_gold(self.tasks[named]):
                    found.append(f"corpora.{task.corpus}.gold: the corpus of task {named} has no trees of its own")
            for key, (named, model) in corpus.runs().items():
                if named in self.tasks and model not in self.tasks[named].models:
                    found.append(f"corpora.{task.corpus}.{key}: {model} is not among tasks.{named}.models")
        if not any(task.models for task in self.tasks.values()):
            found.append("tasks: no task has models, so nothing would be trained; name a model in one of them")
        elif self.figures.task not in self.tasks:
            found.append("figures.task: " + unknown(self.figures.task, self.tasks, "task"))
        elif self.figures.model not in self.tasks[self.figures.task].models:
            found.append(
                f"figures.model: {self.figures.model} is not among tasks.{self.figures.task}.models; "
                "name a task and a model of it in `figures`"
            )
        elif self.models.get(self.figures.model, {}).get("network") == "recurrent":
            found.append(f"figures.model: {self.figures.model} is recurrent and has no self-attention; name another")
        inherited: set[str] = set()  # faults of base; they are reported once, not once for each row
        trained = dict.fromkeys(model for task in self.tasks.values() for model in task.models if model in self.models)
        for model in {"base": None} | trained:
            try:
                run = self.run("", model, 0)
            except ConfigError as error:
                rows = [fault.removeprefix(f"models.{model}.") for fault in error.faults]
                found += [f"models.{model}.{fault}" for fault in rows if fault not in inherited]
                inherited |= set(rows) if model == "base" else set()
            else:
                if not 1 <= self.table3_average <= run.training.average:
                    found.append(
                        f"table3_average: must be from 1 to {run.training.average} (the average of {model}), "
                        f"not {self.table3_average}"
                    )
        if not found:
            found = [f"claims.{name}.{fault}" for name, claim in self.claims.items() for fault in self._of_claim(claim)]
        return list(dict.fromkeys(found))

    def _is_gold(self, task: Task) -> bool:
        """Whether the corpus of a task has trees of its own, not those of another task."""
        corpus = self.corpora.get(task.corpus)
        return corpus is None or (corpus.has_trees and "gold" not in corpus.tasks())

    def _of_claim(self, claim: Claim) -> list[str]:
        """A message if a claim does not fit the rest of the config. Skips a claim with faults of its own."""
        if claim.faults():
            return []
        for task, model in claim.runs():
            if task not in self.tasks:
                return ["rows: " + unknown(task, self.tasks, "task")]
            if model not in self.models:
                return ["rows: " + unknown(model, self.models, "model")]
            kind = self.tasks[task].kind
            if KINDS.get(claim.metric, kind) != kind:
                return [f"metric: {claim.metric} is not measured for {task} ({kind}); name another metric"]
        if claim.seeds > len(self.seeds):
            return [f"seeds: {claim.seeds} are needed, but the experiment has {len(self.seeds)}; add some to `seeds`"]
        run = [(task, model) for task, model in claim.runs() if model in self.tasks[task].models]
        texts = {task: self.tasks[task] for task, _ in run}.values()
        differ = {
            "steps": {str(self.run(task, model, 0).training.steps) for task, model in run},
            "text": {f"{text.corpus} {text.source}-{text.target} in {text.vocabulary} subwords" for text in texts},
        }
        found = [
            f"rows: differ in {what} ({', '.join(sorted(values))}); if you intend that, write differ: [{what}]"
            for what, values in differ.items()
            if len(values) > 1 and what not in claim.differ
        ]
        return found + (self._not_searched(claim) if claim.section == "own" else [])

    def _not_searched(self, claim: Claim) -> list[str]:
        """A message for each row of a claim that asks for a search which this experiment does not make."""
        shown = self.figures.task, self.figures.model
        searched = list(map(way, self.searched()))
        return [
            f"rows: {row}: only {'/'.join(shown)} is decoded with other beams and alphas; name it, or change `figures`"
            if run != shown
            else f"rows: {row}: dev is not decoded so; add its beam and alpha to `searches`"
            for row, run, asked in zip(claim.rows, claim.runs(), claim.ways(), strict=True)
            if asked.startswith("beam-") and (run != shown or asked not in searched)
        ]

    def corpus_of(self, task: str) -> Kind:
        """The corpus of a task."""
        return self.corpora[self.tasks[task].corpus]

    def count(self, task: str) -> tuple[int | None, int]:
        """The number of a task's training pairs before cleaning, and of its plain sentences (see `Kind.count`)."""
        return self.corpus_of(task).count(self.corpus_of)

    def files_of(self, task: str) -> list[str]:
        """The files and URLs from which a task's corpus is read. Raises the errors of `Kind.files`."""
        settings = self.tasks[task]
        return self.corpus_of(task).files(settings.corpus, settings.source, settings.target)

    def searched(self) -> list[Decoding]:
        """The settings with which the run of `figures` decodes dev for the table `decoding`.

        The task's own settings come first, then the grid of `searches`. A beam of one occurs once, because alpha does
        not change it. Empty if there is no such table.
        """
        task = self.tasks[self.figures.task]
        if self.searches is None or task.kind == "parsing":
            return []
        own = task.decoding
        grid = [
            dataclasses.replace(own, beam=beam, alpha=alpha)
            for beam in self.searches.beams
            for alpha in (self.searches.alphas if beam > 1 else (own.alpha,))
        ]
        return [own, *(each for each in grid if each != own)]

    def equal_models(self, task: str) -> dict[str, list[str]]:
        """The models that a task trains, each with the rows that are equal to it at this scale.

        A model has the name `base` if that is one of its rows, else the name of the first row.
        """
        equal: dict[Any, list[str]] = {}
        for model in self.tasks[task].models:
            run = self.run(task, model, 0)
            equal.setdefault((run.architecture, run.training), []).append(model)
        return {"base" if "base" in models else models[0]: models for models in equal.values()}

    def run(self, task: str, model: str, seed: int) -> RunConfig:
        """The resolved config of one run. Raises ConfigError for an unknown model, and for each faulty key.

        `precision: auto` becomes float32 if the scaled base has a d_model below AUTO_WIDTH.
        """
        if model not in self.models:
            raise ConfigError("config", [unknown(model, self.models, "model")])
        base = self.models["base"]
        values = base | self.models[model]
        width = base.get("d_model")
        if values.get("precision") == "auto" and type(width) is int and width * self.scale.width < AUTO_WIDTH:
            values["precision"] = "float32"
        faults: list[str] = []
        if model != "base" and {"attention_over_parameters", "d_ff"} <= self.models[model].keys():
            faults.append(f"models.{model}.d_ff: attention over parameters takes the place of d_ff; remove it")
        if values.get("network") == "recurrent":
            others = {key.name for key in dataclasses.fields(ModelConfig)} - set(RECURRENT)
            faults += [
                f"models.{model}.{key}: a recurrent network does not have this key; remove it"
                for key in self.models[model]
                if key in others
            ]
            inherited = {key: value for key, value in values.items() if key not in TRANSFORMER}
            values = inherited | {"positions": "sinusoidal"}
        parts = []
        for part in (ModelConfig, TrainingConfig):
            mine = {key.name: values[key.name] for key in dataclasses.fields(part) if key.name in values}
            written: dict[str, str] = {}
            if part is ModelConfig:
                mine = self.scale.shrunk(mine, f"models.{model}", faults, written)
            found: list[str] = []
            parts.append(fill(part, mine, f"models.{model}", found))
            for fault in found:
                start = next(filter(fault.startswith, written), "")
                faults.append(start + written.get(start, "") + fault.removeprefix(start))
        if faults:
            raise ConfigError("config", faults)
        run = RunConfig(task, model, seed, *parts)
        if faults := run.faults():
            raise ConfigError("config", [f"models.{model}.{fault}" for fault in faults])
        return run


OWN_FILES = tuple(
    Path(__file__).parents[2] / f"config/{name}.yaml" for name in ("models", "corpora", "length", "claims", "config")
)


def read_sources(overlays: Iterable[Path]) -> dict[str, Mapping[str, Any]]:
    """The contents of the project's config/*.yaml and of `overlays`, in the order in which they override each other.

    Keys are paths. Those of files below the current folder are relative. Raises the errors of `read_keys`, and
    InputError if the package is installed without config/.
    """
    if not (folder := OWN_FILES[0].parent).is_dir():
        raise InputError(f"{folder}: no such folder; experiments need a clone: run python -m transformer in its folder")
    files = [path.absolute() for path in (*OWN_FILES, *overlays)]
    here = Path.cwd()
    names = [path.relative_to(here) if path.is_relative_to(here) else path for path in files]
    unique = reversed(dict.fromkeys(reversed(names)))  # the last place of a name counts
    return {str(name): read_keys(name) for name in unique}


def load_experiment(values: Any, sources: Mapping[str, Mapping[str, Any]]) -> Experiment:
    """The experiment that `values` describe. `values` are the `sources`, merged.

    Raises the ConfigError of `transformer.support.strict.load`. Each fault begins with the source of its value.
    """
    try:
        return load(Experiment, values, "config")
    except ConfigError as error:
        raise ConfigError("", [f"{_source_of(fault, sources)}: {fault}" for fault in error.faults]) from None


def _source_of(fault: str, sources: Mapping[str, Mapping[str, Any]]) -> str:
    """The source that a fault comes from: the one that has the most of the keys at the start of the fault.

    Among equals it is the last one, because its value overrides the others.
    """
    return max(reversed(list(sources)), key=lambda name: _depth(fault, sources[name]))


def _depth(fault: str, value: Any) -> int:
    """The number of keys at the start of a fault, such as `models.A-h1.d_k: ...`, that exist in `value`."""
    keys = sorted(value, key=lambda key: -len(str(key))) if isinstance(value, Mapping) else ()  # A-h1 before A
    for key in keys:
        if found := re.match(re.escape(str(key)) + r"(\.|(?=[:\[ ]))", fault):
            return 1 + _depth(fault[found.end() :], value[key])
    return 0


def read_experiment(overlays: Iterable[Path]) -> Experiment:
    """The experiment of the project's config/*.yaml, overridden by `overlays`. Snakemake reads them in the same way.

    Raises the errors of `load_experiment` and `read_sources`.
    """
    sources = read_sources(overlays)
    values: dict[str, Any] = {}
    for source in sources.values():
        merge(values, source)
    return load_experiment(values, sources)

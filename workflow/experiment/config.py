"""The config of one experiment: everything in config/*.yaml together."""

import dataclasses
import re
from collections.abc import Iterable
from functools import cached_property
from itertools import chain
from pathlib import Path
from typing import Annotated, Any

from pydantic import AfterValidator, Field, ValidationInfo
from pydantic.dataclasses import dataclass

from transformer.corpora.fetch import Download
from transformer.corpora.kinds import Corpus
from transformer.corpora.location import SPECIAL
from transformer.corpora.parts import Kind
from transformer.evaluation.layer_sizes import LayerSizes
from transformer.length.config import Study
from transformer.model.config import OTHERS, POSITIONS, TRANSFORMER, USED, ModelConfig
from transformer.model.idea import read_idea
from transformer.package.config import Decoding
from transformer.support.faults import ConfigError, Fault, Keys, unknown
from transformer.support.fields import STRICT, Config, Faults, Positive, Seed, SomeDistinct, check, some_keys_of
from transformer.support.files import InputError
from transformer.support.strict import load, load_sources, merged
from transformer.text.subwords import Sample
from transformer.training.config import RunConfig, TrainingConfig
from workflow.experiment.claim_checks import faults_of
from workflow.experiment.claims import Claim
from workflow.experiment.scale import Scale
from workflow.experiment.sources import RELEASED, read_sources
from workflow.experiment.tasks import Figures, Name, Searches, Task, Trial, one_folder

SHARED = {  # folders in `results` that no experiment may have
    "downloads": "the folder that all experiments share",
    "ideas": "the folder of `snakemake ideas`",
    "released": "the folder of the released results",
    "site": "the folder of `make site`",
    "gpu": "the folder of `python -m benchmarks.gpu`",
}
AUTO_WIDTH = 64  # smallest d_model of base at which `precision: auto` depends on the hardware (docs/speed.md)


def _literal(folder: str) -> str:
    if len(folder.splitlines()) != 1 or folder.strip() != folder:
        raise ValueError(f"{folder!r} names no folder; write a name without line breaks and blanks at its ends")
    if found := re.search(f"{SPECIAL}|^[~$]", folder):
        why = {"~": "~ is not your home here", "$": "variables are not replaced here"}
        raise ValueError(f"{folder!r}: {why.get(found[0], '{, }, < and > are special to Snakemake')}; use another name")
    return folder


Folder = Annotated[str, AfterValidator(_literal)]
AnyCorpus = Annotated[Corpus, Field(discriminator="origin")]
Overrides = Annotated[dict[str, Any], some_keys_of(ModelConfig, TrainingConfig)]


def _only(tasks: dict[str, Task], info: ValidationInfo) -> dict[str, Task]:
    """The tasks; those that are not among `only` have no models."""
    only = info.data.get("only")
    return {
        name: dataclasses.replace(task, models=()) if only and name not in only else task
        for name, task in tasks.items()
    }


@dataclass(frozen=True, config=STRICT, kw_only=True)
class Experiment(Config):
    """The whole config of one experiment."""

    experiment: Name = Field(description="name of the experiment and of its folder in `results`")
    results: Folder = Field(description="folder of all results")
    mirror: Folder | None = Field(description="folder that replaces downloads (README.md, Without internet)")
    packages: Folder | None = Field(description="folder of packages that replace training (From trained packages)")
    notes: tuple[str, ...] = Field(description="sentences that are printed under the tables of scores")
    seeds: SomeDistinct[Seed] = Field(description="every row is trained once for each of them")
    scale: Scale = Field(description="factors for the widths and for the number of layers of every model")
    subwords: Sample = Field(description="how many pairs vocabularies are learnt from at most, drawn by a seed")
    table3_average: Positive = Field(description="how many checkpoints Table 3 averages")
    figures: Figures = Field(description="the run whose attention figures 3 to 5 show")
    searches: Searches | None = Field(description="beams and length penalties of the table `decoding`; null: none")
    table1: LayerSizes = Field(description="lengths, widths, `k`, `r` and `d_k` for which Table 1 is measured")
    only: SomeDistinct[str] | None = Field(
        default=None, description="the tasks that are run; null: all that have models"
    )
    tasks: Annotated[dict[Name, Task], AfterValidator(_only)] = Field(
        description="what is learnt: corpus, direction, vocabulary, decoding, models"
    )
    models: dict[str, Overrides] = Field(description="every row of a table, as the values that differ from `base`")
    corpora: dict[str, AnyCorpus] = Field(description="every text: origin, description, licence, cleaning")
    downloads: dict[str, Download] = Field(description="size and SHA-256 of every URL")
    length: Study = Field(description="the study of length: tasks, positions, seeds and recipe")
    claims: dict[str, Claim] = Field(description="what the paper claims about its rows")
    replicates: str | None = Field(
        default=None, description="an experiment with released results, whose verdicts stand beside this one's"
    )
    trial: Trial | None = Field(default=None, description="an idea to try against released scores (docs/own-idea.md)")

    @check
    def _names(self) -> Faults:
        if shared := SHARED.get(self.experiment.lower()):  # some file systems ignore case
            yield "experiment", f"`{self.experiment}` is {shared}; choose another name"
        yield from (("tasks", fault) for fault in one_folder(self.tasks))
        if "base" not in self.models:
            yield "models", "base is missing; every row is an override of it"
        elif (network := self.models["base"].get("network")) in OTHERS:
            yield ("models", "base", "network"), f"must be transformer, not {network}; add a row of your own for it"
        if not any(task.models for task in self.tasks.values()) and self.tasks.keys() >= {*(self.only or ())}:
            yield "only" if self.only else "tasks", "no task that is run has models; name a model in one of them"
        for name, task in self.tasks.items():
            if task.corpus not in self.corpora:
                yield ("tasks", name, "corpus"), unknown(task.corpus, self.corpora, "corpus")
            for place, model in enumerate(task.models):
                if model not in self.models:
                    yield ("tasks", name, "models", place), unknown(model, self.models, "model")
        for place, name in enumerate(self.only or ()):
            if name not in self.tasks:
                yield ("only", place), unknown(name, self.tasks, "task")
        if self.figures.task and self.figures.task not in self.tasks:
            yield ("figures", "task"), unknown(self.figures.task, self.tasks, "task")
        for key in ("row", "against") if self.trial else ():
            if (name := getattr(self.trial, key)) not in self.models:
                yield ("trial", key), unknown(name, self.models, "model")
        released = sorted(path.parts[-3] for path in RELEASED.glob("*/tables/claims.csv"))
        if self.replicates is not None and self.replicates not in released:
            yield "replicates", unknown(self.replicates, released, "released experiment")

    @check
    def _learnt(self) -> Faults:
        task, model = self.drawn
        if not self.tasks[task].models:
            yield ("figures", "task"), f"{task} is not run; name a task that is"
        elif model not in self.tasks[task].models:
            yield ("figures", "model"), f"{model} is not among tasks.{task}.models; name a model of it in `figures`"
        elif (network := self.models[model].get("network")) in OTHERS:
            yield ("figures", "model"), f"{model} is {network} and has no self-attention; name another"
        for name, settings in self.tasks.items():
            if settings.models:
                yield from self._corpus_faults(name, settings)
        yield from self._faulty_runs()

    def _corpus_faults(self, name: str, task: Task) -> Faults:
        """What does not fit in a task's corpus: no trees for a parser, and the tasks and the runs that it names."""
        corpus, place = self.corpora[task.corpus], ("corpora", task.corpus)
        if task.kind == "parsing" and not corpus.has_trees:
            yield ("tasks", name, "corpus"), f"{task.corpus} has no trees, from which a parser learns; name another"
        for key, named in corpus.tasks().items():
            if named not in self.tasks:
                yield (*place, *key.split(".")), unknown(named, self.tasks, "task")
            elif key == "gold" and not self._is_gold(self.tasks[named]):
                yield (*place, key), f"the corpus of task {named} has no trees of its own; name a task that has"
        for key, (named, model) in corpus.runs().items():
            if named not in self.tasks:
                continue
            if self._is_gold(self.tasks[named]) and not self.count(named)[1]:
                yield (*place, key), f"the corpus of task {named} has no `plain`: sentences for {model} to parse"
            if self.only and named not in self.only:
                yield "only", f"{name} learns from what {named} parses; name {named}, too"
            elif model not in self.tasks[named].models:
                yield (*place, key), f"{model} is not among tasks.{named}.models; name one of these, or add it"

    def _faulty_runs(self) -> Faults:
        """The faults of base and of the models that tasks have; those that rows inherit from base, once."""
        found: dict[Any, str] = {}  # the first model that has a fault
        for model in dict.fromkeys(["base", *(model for task in self.tasks.values() for model in task.models)]):
            try:
                run = self.run("", model, 0)
            except ConfigError as error:
                for fault in error.faults:
                    found.setdefault(((fault.keys, *fault.others), fault.text), model)
            else:
                if self.table3_average > (most := run.training.average):
                    text = f"must be from 1 to {most} (the average of {model}), not {self.table3_average}"
                    found[(("table3_average",),), text] = "base"
        for (places, text), model in found.items():
            of_row = model != "base" and any(place[1] == "base" for place in places)
            yield [*places], f"{model}: {text}" if of_row else text

    @check
    def _claimed(self) -> Faults:
        for name, claim in self.claims.items():
            yield from ((("claims", name, key), text) for key, text in faults_of(self, claim))

    def _is_gold(self, task: Task) -> bool:
        """Whether the corpus of a task has trees of its own, not those of another task."""
        corpus = self.corpora.get(task.corpus)
        return corpus is None or (corpus.has_trees and "gold" not in corpus.tasks())

    @property
    def drawn(self) -> tuple[str, str]:
        """The task and the model of `figures`. By default the first task that is run, and base or a Transformer."""
        task = self.figures.task or next(name for name, task in self.tasks.items() if task.models)
        models = self.tasks[task].models
        transformers = [model for model in models if self.models.get(model, {}).get("network") not in OTHERS]
        default = "base" if "base" in models or not models else [*transformers, *models][0]
        return task, self.figures.model or default

    def corpus_of(self, task: str) -> Kind:
        """The corpus of a task."""
        return self.corpora[self.tasks[task].corpus]

    def count(self, task: str) -> tuple[int | None, int]:
        """The number of a task's training pairs before cleaning, and of its plain sentences (see `Kind.count`)."""
        return self.corpus_of(task).count(self.corpus_of)

    def files_of(self, task: str) -> list[str]:
        """The files and URLs from which a task's corpus is read.

        Raises the errors of `Kind.files`, and ConfigError for a side that is not among several languages of the corpus.
        """
        settings, corpus = self.tasks[task], self.corpus_of(task)
        sides, (place, known) = {"source": settings.source, "target": settings.target}, corpus.languages()
        for key, side in sides.items():
            if known[1:] and side not in known:
                text = f"{unknown(side, known, 'language')} (tasks.{task}.{key} reads corpora.{settings.corpus})"
                raise ConfigError(
                    "", [Fault(("tasks", task, key), text, others=(("corpora", settings.corpus, place),))]
                )
        return corpus.files(settings.corpus, *sides.values())

    def searched(self) -> list[Decoding]:
        """The settings with which the run of `figures` decodes dev for the table `decoding`.

        The task's own settings come first, then the grid of `searches`. A beam of one occurs once, because alpha does
        not change it. Empty if there is no such table.
        """
        task = self.tasks[self.drawn[0]]
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

        A model has the name `base` if that is one of its rows, else the name of the first row. Raises as `run` does.
        """
        equal: dict[Any, list[str]] = {}
        for model in self.tasks[task].models:
            run = self.run(task, model, 0)
            equal.setdefault((run.architecture, run.training), []).append(model)
        return {"base" if "base" in models else models[0]: models for models in equal.values()}

    @cached_property
    def _resolved(self) -> dict[tuple[str, str, int], RunConfig]:
        return {}  # those that `run` has computed: planning asks thousands of times

    def seeds_of(self, task: str, model: str) -> list[int]:
        """The seeds with which a task's model is trained: the experiment's, then those that claims about it add."""
        rows = {(task, row) for row in self.equal_models(task)[model]}
        further = (claim.further_seeds for claim in self.claims.values() if rows & set(claim.runs()))
        return list(dict.fromkeys(chain(self.seeds, *further)))

    def run(self, task: str, model: str, seed: int) -> RunConfig:
        """The resolved config of one run. Raises ConfigError for an unknown model, and for each faulty key.

        `precision: auto` becomes float32 if the scaled base has a d_model below AUTO_WIDTH.
        """
        if (task, model, seed) in self._resolved:
            return self._resolved[task, model, seed]
        if model not in self.models:
            raise ConfigError("config", [Fault(("models",), unknown(model, self.models, "model"))])
        base, row = self.models["base"], self.models[model]
        values = base | row
        if values.get("precision") == "auto" and base.get("d_model", AUTO_WIDTH) * self.scale.width < AUTO_WIDTH:
            values["precision"] = "float32"
        sizes, training = ([key.name for key in dataclasses.fields(part)] for part in (ModelConfig, TrainingConfig))
        refused = {}
        if model != "base" and {"attention_over_parameters", "d_ff"} <= row.keys():
            refused["d_ff"] = "attention over parameters takes the place of d_ff; remove it"
        if (network := values.get("network")) in OTHERS:
            text = f"a {network} network does not have this key; remove it"
            refused |= {key: text for key in row if key in sizes and key not in USED[network]}
            inherited = {key: value for key, value in values.items() if key not in TRANSFORMER}
            values = inherited | {"positions": POSITIONS[network]}

        def place(*keys: str | int) -> Keys:
            return ("models", model if keys[0] in row else "base", *keys)

        faults = [Fault(place(key), text) for key, text in refused.items()]
        scaled, odd = self.scale.shrunk({key: values[key] for key in sizes if key in values})
        faults += [Fault(place(*keys), text) for keys, text in odd.items()]
        if isinstance(path := scaled.get("idea"), str):
            try:
                scaled["idea"] = read_idea(path)
            except InputError as error:
                faults.append(Fault(place("idea"), str(error)))
                del scaled["idea"]
        parts = {"architecture": scaled, "training": {key: values[key] for key in training if key in values}}
        try:
            run = load(RunConfig, {"task": task, "model": model, "seed": seed, **parts})
        except ConfigError as error:
            for fault in error.faults:
                key = str(fault.keys[1])
                is_scaled = isinstance(scaled.get(key), int) and scaled[key] != values[key]
                text = fault.text + (f" ({key} is {values[key]} before it is scaled)" if is_scaled else "")
                first, *others = (place(*keys[1:]) for keys in (fault.keys, *fault.others))
                faults.append(Fault(first, text, others=tuple(others)))
        if faults:
            raise ConfigError("config", faults)
        self._resolved[task, model, seed] = run
        return run


def read_experiment(overlays: Iterable[Path]) -> Experiment:
    """The experiment of the project's config/*.yaml, overridden by `overlays`. Snakemake reads them in the same way.

    Raises the errors of `load_sources` and `read_sources`.
    """
    sources = read_sources(overlays)
    return load_sources(Experiment, merged(sources.values()), sources)

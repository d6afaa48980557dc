"""What config/*.yaml say, as frozen dataclasses.

`Experiment` is all of it together; `RunConfig` is one run, resolved: everything that decides its numbers.
"""

import dataclasses
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Annotated, Any, Literal

from transformer.strict import ConfigError, fill, load, merge, not_a_range, not_positive, plain, read_yaml, unknown

PADDING, END, UNKNOWN = 0, 1, 2  # ids that every vocabulary has
Leaves = Literal["XX", "tags", "words"]  # what stands for words in linearised trees


@dataclass(frozen=True)
class AttentionOverParametersConfig:
    """Sizes of the appendix's sub-layer: h_p heads over n_p keys of d_pk and values of d_pv."""

    h_p: int
    d_pk: int
    d_pv: int
    n_p: int


@dataclass(frozen=True)
class ModelConfig:
    """A column group of Table 3: what the network is. Names as in the paper."""

    N: int
    d_model: int
    d_ff: int
    h: int
    d_k: int
    d_v: int
    P_drop: float
    positions: Literal["sinusoidal", "learned"]
    max_length: int  # of a sentence in subwords, where positions are learned
    attention_over_parameters: AttentionOverParametersConfig | None = None

    def faults(self) -> list[str]:
        """What is impossible about these values."""
        found = not_positive(self, "N", "d_model", "d_ff", "h", "d_k", "d_v", "max_length")
        if self.attention_over_parameters is not None:
            found += not_positive(self.attention_over_parameters, "h_p", "d_pk", "d_pv", "n_p")
        if self.d_model % 2:
            found.append(f"d_model: {self.d_model} is odd; sines and cosines come in pairs, choose an even number")
        if not 0 <= self.P_drop < 1:
            found.append(f"P_drop: {self.P_drop} is not in [0, 1)")
        return found


@dataclass(frozen=True)
class TrainingConfig:
    """How the network is trained (section 5)."""

    steps: int
    warmup: int
    learning_rate: float  # multiplies the schedule of section 5.3; the paper's is 1
    beta1: float
    beta2: float
    epsilon: float
    eps_ls: float
    batch_tokens: int  # source tokens, and target tokens, of one step
    longest_pair: int  # in subwords; longer ones are left out
    micro_batch_tokens: int  # of one forward pass; the gradients of a step's micro-batches are summed
    checkpoint_every: int  # steps between the checkpoints that are averaged
    average: int  # how many of the last checkpoints are kept, and averaged for Tables 2 and 4
    precision: Literal["auto", "float32", "bfloat16"]

    def faults(self) -> list[str]:
        """What is impossible about these values."""
        found = not_positive(self, "steps", "warmup", "learning_rate", "epsilon", "batch_tokens")
        found += not_positive(self, "micro_batch_tokens", "longest_pair", "checkpoint_every", "average")
        for name in ("beta1", "beta2", "eps_ls"):
            if not 0 <= getattr(self, name) < 1:
                found.append(f"{name}: {getattr(self, name)} is not in [0, 1)")
        if self.steps - (self.average - 1) * self.checkpoint_every < 1:
            found.append(
                f"average: {self.average} checkpoints, {self.checkpoint_every} steps apart, "
                f"do not fit into {self.steps} steps"
            )
        return found

    def checkpoint_steps(self) -> list[int]:
        """The step numbers of the checkpoints kept, the last one first."""
        return [self.steps - i * self.checkpoint_every for i in range(self.average)]


Overrides = Annotated[dict[str, Any], ModelConfig, TrainingConfig]  # any of the keys of both


@dataclass(frozen=True)
class RunConfig:
    """One run: task x model x seed, resolved."""

    task: str
    model: str
    seed: int
    architecture: ModelConfig
    training: TrainingConfig

    def faults(self) -> list[str]:
        """What is impossible about these values."""
        found = [f"seed: {self.seed} is negative"] if self.seed < 0 else []
        longest, most = self.training.longest_pair, self.architecture.max_length
        if self.architecture.positions == "learned" and longest > most:
            found.append(f"longest_pair: {longest} is beyond the {most} positions learned (max_length); lower it")
        return found

    def identity(self) -> dict[str, Any]:
        """What its state and checkpoints belong to: all but micro_batch_tokens, which may be lowered half-way."""
        values = plain(self)
        del values["training"]["micro_batch_tokens"]
        return values


@dataclass(frozen=True)
class Cleaning:
    """What a pair needs to stay.

    Words a side (least, most), at most `ratio` times as many on one side as on the other. Pairs whose sides are
    `identical` (untranslated), and `duplicates` of a pair or a source that came before, are removed or kept.
    """

    words: tuple[int, int] = (1, 250)
    ratio: float = 9.0
    identical: Literal["keep", "remove"] = "keep"
    duplicates: Literal["keep", "pair", "source"] = "keep"

    def faults(self) -> list[str]:
        """What is impossible about these values."""
        found = not_a_range("words", self.words)
        return found if self.ratio >= 1 else [*found, f"ratio: {self.ratio} is below 1, which no pair is"]


@dataclass(frozen=True)
class Shares:
    """The shares of the pages that go to dev and to test; train has the rest."""

    dev: float
    test: float

    def faults(self) -> list[str]:
        """What is impossible about these values."""
        found = not_positive(self, "dev", "test")
        if self.dev + self.test >= 1:
            found.append(f"dev and test: {self.dev} + {self.test} leave nothing to train on")
        return found


@dataclass(frozen=True)
class Package:
    """A Debian package and the SHA-256 of the text in it."""

    name: str
    sha256: str


@dataclass(frozen=True)
class Packages:
    """The Debian package of each language."""

    packages: dict[str, Package]


@dataclass(frozen=True)
class LibreOfficeHelp:
    """A corpus from the help pages of LibreOffice."""

    origin: Literal["libreoffice-help"]
    description: str
    licence: str
    packages: dict[str, Package]
    cleaning: Cleaning
    shares: Shares


@dataclass(frozen=True)
class Download:
    """The size and the SHA-256 of what a URL gives."""

    bytes: int
    sha256: str

    def faults(self) -> list[str]:
        """What is impossible about these values."""
        found = not_positive(self, "bytes")
        if not re.fullmatch("[0-9a-f]{64}", self.sha256):
            found.append(f"sha256: {self.sha256!r} is not 64 digits of 0-9 and a-f")
        return found


Texts = tuple[dict[str, str], ...]  # language -> location (transformer.data.reading.Location); one after the other


@dataclass(frozen=True)
class Files:
    """A corpus of parallel texts: one's own files, or downloads."""

    origin: Literal["files"]
    train: Texts
    dev: Texts
    test: Texts
    description: str = "own text"
    licence: str = "not stated"
    cleaning: Cleaning = Cleaning()
    pairs: int | None = None  # of train before cleaning, for `plan`

    def faults(self) -> list[str]:
        """What is impossible about these values."""
        return [
            f"{part}: is empty; give at least one text" for part in ("train", "dev", "test") if not getattr(self, part)
        ]


@dataclass(frozen=True)
class PlainText:
    """Sentences without trees, to be parsed by the first parser.

    So many, of so many words (least, most), drawn by seed from the train sources of a task.
    """

    task: str
    sentences: int
    words: tuple[int, int]
    seed: int

    def faults(self) -> list[str]:
        """What is impossible about these values."""
        return [*not_positive(self, "sentences"), *not_a_range("words", self.words)]


@dataclass(frozen=True)
class Treebank:
    """A corpus of trees in the files wsj_NNNN.mrg of the Penn Treebank; each part is a range of their numbers."""

    origin: Literal["treebank"]
    description: str
    licence: str
    trees: str  # a location: the folder of the files, one's own or in an archive
    train: tuple[int, int]
    dev: tuple[int, int]
    test: tuple[int, int]
    plain: PlainText
    sentences: dict[str, int]  # that each part must have
    leaves: Leaves = "XX"
    constituents: tuple[int, int] | None = None  # words of those that train has, too

    def faults(self) -> list[str]:
        """What is impossible about these values."""
        ranges = {name: getattr(self, name) for name in ("train", "dev", "test", "constituents")}
        return [fault for name, values in ranges.items() if values for fault in not_a_range(name, values)]


@dataclass(frozen=True)
class Sizes:
    """Sentences of each part; `plain` are those without trees, for the semi-supervised row of Table 4."""

    train: int
    dev: int
    test: int
    plain: int

    def faults(self) -> list[str]:
        """What is impossible about these values."""
        return not_positive(self, "train", "dev", "test", "plain")


@dataclass(frozen=True)
class Grammar:
    """A corpus of generated English with its trees: sentences of so many words (least, most)."""

    origin: Literal["grammar"]
    description: str
    licence: str
    sentences: Sizes
    words: tuple[int, int]
    seed: int

    def faults(self) -> list[str]:
        """What is impossible about these values."""
        return not_a_range("words", self.words)


@dataclass(frozen=True)
class SelfTraining:
    """A corpus of trees: those of task `gold`, `copies` times, and its plain sentences parsed by model `parser`.

    Of the parses the share `keep` with the highest log P a subword stays.
    """

    origin: Literal["self-training"]
    description: str
    licence: str
    gold: str
    parser: str
    copies: int
    keep: float

    def faults(self) -> list[str]:
        """What is impossible about these values."""
        found = not_positive(self, "copies")
        return found if 0 < self.keep <= 1 else [*found, f"keep: {self.keep} is no share; give one above 0, at most 1"]


@dataclass(frozen=True)
class ParsedText:
    """A corpus of trees: those of task `gold`, `copies` times, and text that a parser of one's own has parsed."""

    origin: Literal["parsed-text"]
    description: str
    licence: str
    gold: str
    trees: tuple[str, ...]  # locations of files of bracketed trees, one a line
    copies: int

    def faults(self) -> list[str]:
        """What is impossible about these values."""
        return not_positive(self, "copies") + ([] if self.trees else ["trees: is empty; give at least one file"])


Corpus = LibreOfficeHelp | Files | Treebank | Grammar | SelfTraining | ParsedText


@dataclass(frozen=True)
class TaskCorpus:
    """A corpus as a task uses it: from side `source` to side `target`."""

    name: str
    source: str
    target: str
    corpus: Corpus


@dataclass(frozen=True)
class Decoding:
    """Beam search (section 6.1): beam size, length penalty alpha, output of at most input + extra subwords."""

    beam: int
    alpha: float
    extra: int

    def faults(self) -> list[str]:
        """What is impossible about these values."""
        found = not_positive(self, "beam", "extra")
        if self.alpha < 0:
            found.append(f"alpha: {self.alpha} is negative; 0 or more rewards length")
        return found


@dataclass(frozen=True)
class Task:
    """What is learnt: a corpus, read from `source` to `target`, as subwords of one shared vocabulary."""

    kind: Literal["translation", "parsing"]
    corpus: str
    source: str
    target: str
    vocabulary: int
    decoding: Decoding
    models: tuple[str, ...]

    def faults(self) -> list[str]:
        """What is impossible about these values."""
        return not_positive(self, "vocabulary")


@dataclass(frozen=True)
class Scale:
    """By how much every model is shrunk: width for d_model, d_ff, d_k, d_v (and the appendix's sizes), depth for N.

    N is rounded, to 1 at least; a width has to stay a whole number.
    """

    width: Fraction
    depth: Fraction

    def faults(self) -> list[str]:
        """What is impossible about these values."""
        return not_positive(self, "width", "depth")


WIDTHS = ("d_model", "d_ff", "d_k", "d_v", "d_pk", "d_pv", "n_p")


@dataclass(frozen=True)
class Sample:
    """At most so many pairs of a text, drawn by seed."""

    pairs: int
    seed: int

    def faults(self) -> list[str]:
        """What is impossible about these values."""
        return not_positive(self, "pairs")


@dataclass(frozen=True)
class Figures:
    """Which run's attention figures 3 to 5 show."""

    task: str
    model: str


@dataclass(frozen=True)
class Experiment:
    """All that config/*.yaml say about one experiment."""

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
    tasks: dict[str, Task]
    models: dict[str, Overrides]
    corpora: dict[str, Corpus]
    downloads: dict[str, Download]

    def faults(self) -> list[str]:
        """What does not fit together, in all runs."""
        found = [f"seeds: {seed} is negative" for seed in self.seeds if seed < 0]
        if not re.fullmatch(r"\w[\w.-]*", self.experiment):
            found.append(f"experiment: {self.experiment!r} is no name of a folder; use letters, digits, - and _")
        if re.search(r"\s", self.results):
            found.append(f"results: {self.results!r} has a blank; name a folder without")
        if not self.seeds:
            found.append("seeds: is empty; give at least one")
        if "base" not in self.models:
            return [*found, "models: base is missing; every row is an override of it"]
        for name, task in self.tasks.items():
            if task.corpus not in self.corpora:
                found.append(f"tasks.{name}.corpus: " + unknown(task.corpus, self.corpora, "corpus"))
            for model in task.models:
                if model not in self.models:
                    found.append(f"tasks.{name}.models: " + unknown(model, self.models, "model"))
            corpus = self.corpora.get(task.corpus)
            if isinstance(corpus, Treebank) and task.models and corpus.plain.task not in self.tasks:
                found.append(f"corpora.{task.corpus}.plain.task: " + unknown(corpus.plain.task, self.tasks, "task"))
            if isinstance(corpus, SelfTraining | ParsedText) and task.models:
                if corpus.gold not in self.tasks:
                    found.append(f"corpora.{task.corpus}.gold: " + unknown(corpus.gold, self.tasks, "task"))
                elif isinstance(corpus, SelfTraining) and corpus.parser not in self.tasks[corpus.gold].models:
                    found.append(
                        f"corpora.{task.corpus}.parser: {corpus.parser} is not among tasks.{corpus.gold}.models"
                    )
        if self.figures.task not in self.tasks:
            found.append("figures.task: " + unknown(self.figures.task, self.tasks, "task"))
        elif self.figures.model not in self.tasks[self.figures.task].models:
            found.append(
                f"figures.model: {self.figures.model} is not among tasks.{self.figures.task}.models; "
                "name a task and a model of it in `figures`"
            )
        inherited: set[str] = set()  # faults of base, told once and not again for each row
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
                        f"table3_average: {self.table3_average} is not in 1 to {run.training.average}, "
                        f"the average of {model}"
                    )
        return list(dict.fromkeys(found))

    def run(self, task: str, model: str, seed: int) -> RunConfig:
        """The resolved config of one run. Raises ConfigError for an unknown model, and for each key of it at fault."""
        if model not in self.models:
            raise ConfigError("config", [unknown(model, self.models, "model")])
        values = self.models["base"] | self.models[model]
        faults: list[str] = []
        parts = []
        for part in (ModelConfig, TrainingConfig):
            mine = {key.name: values[key.name] for key in dataclasses.fields(part) if key.name in values}
            if part is ModelConfig:
                mine = self._scaled(mine, f"models.{model}", faults)
            parts.append(fill(part, mine, f"models.{model}", faults))
        if faults:
            raise ConfigError("config", faults)
        run = RunConfig(task, model, seed, *parts)
        if faults := run.faults():
            raise ConfigError("config", [f"models.{model}.{fault}" for fault in faults])
        return run

    def _scaled(self, values: Mapping[str, Any], where: str, faults: list[str]) -> dict[str, Any]:
        scaled = dict(values)
        for key, value in values.items():
            if isinstance(value, Mapping):
                scaled[key] = self._scaled(value, f"{where}.{key}", faults)
            elif key == "N" and type(value) is int and value > 0:
                scaled[key] = max(1, round(value * self.scale.depth))
            elif key in WIDTHS and type(value) is int:
                product = value * self.scale.width
                if product.denominator == 1:
                    scaled[key] = int(product)
                else:
                    faults.append(
                        f"{where}.{key}: {value} x width {self.scale.width} is {product}, no whole number; "
                        "change scale.width"
                    )
        return scaled


def read_experiment(overlays: Iterable[Path]) -> Experiment:
    """The project's config/*.yaml with `overlays` over them, as Snakemake reads them.

    Raises ConfigError and InputError as `transformer.strict.load` and `read_yaml` do.
    """
    folder = Path(__file__).parents[1] / "config"
    values: dict[str, Any] = {}
    for path in (*(folder / f"{name}.yaml" for name in ("models", "corpora", "config")), *overlays):
        merge(values, read_yaml(path), str(path))
    return load(Experiment, values, "config")

"""What an experiment learns and how it is decoded: its tasks, the run of the figures, and the searches."""

import re
import unicodedata
from collections.abc import Iterable, Iterator
from typing import Annotated, Any

from pydantic import AfterValidator, BeforeValidator, Field, ValidationInfo
from pydantic.dataclasses import dataclass

from transformer.evaluation.tokenisers import missing
from transformer.model.config import LARGEST, Size
from transformer.model.ids import UNKNOWN
from transformer.package.config import SECTION_6_1, Decoding, TaskKind
from transformer.support.fields import STRICT, Alpha, Config, Distinct, Faults, SomeDistinct, check
from transformer.support.languages import not_languages
from transformer.support.strict import plain

LONGEST_NAME = 100  # bytes; file systems allow 255, of which we use some for other parts of names


def _names_a_folder(name: str) -> str:
    if not re.fullmatch(r"[^\W_][\w.-]*", name):
        raise ValueError(f"{name!r} cannot name a folder; use letters, digits, then ., - and _, too")
    if len(name.encode()) > LONGEST_NAME:
        raise ValueError(f"{name!r} is too long for a folder; use at most {LONGEST_NAME} bytes")
    return name


Name = Annotated[str, AfterValidator(_names_a_folder)]  # of an experiment, a task or a model that is trained


def one_folder(names: Iterable[str]) -> Iterator[str]:
    """What is wrong with names of folders that differ only in case: some file systems ignore it."""
    seen: dict[str, str] = {}
    for name in names:
        if (other := seen.setdefault(unicodedata.normalize("NFC", name.lower()), name)) != name:
            yield f"{other} and {name} are one folder where a file system ignores case; rename one of them"


FRESH = range(6, 16)  # the seeds that confirm an idea
# Beam, length penalty and length of section 6.1, and those of section 6.3.
PAPER = {"translation": plain(SECTION_6_1), "parsing": {"beam": 21, "alpha": 0.3, "extra": 300}}


def _filled_in(decoding: Any, info: ValidationInfo) -> Any:
    """The keys of a task's decoding, with the paper's values for those that are missing."""
    return PAPER[info.data.get("kind", "translation")] | decoding if isinstance(decoding, dict) else decoding


@dataclass(frozen=True, config=STRICT, kw_only=True)
class Task(Config):
    """What models learn: to turn `source` into `target` on a corpus, as subwords of one shared vocabulary."""

    kind: TaskKind = Field(default="translation", description="translation, or parsing (section 6.3)")
    corpus: str = Field(description="name of the corpus")
    source: str = Field(description="the side of the corpus from which models translate, such as en")
    target: str = Field(description="the side into which they translate, such as de")
    vocabulary: int = Field(ge=UNKNOWN + 2, le=LARGEST, description="number of subwords, with padding, end and unknown")
    decoding: Annotated[Decoding, BeforeValidator(_filled_in)] = Field(  # type: ignore[assignment]
        default_factory=dict,
        description="beam search (section 6.1)",
    )
    models: Distinct[Name] = Field(description="the models to train, rows of tables; [] leaves out the task")

    @check
    def _two_sides(self) -> Faults:
        if self.source == self.target:
            yield ["target", "source"], f"source and target are both {self.source}; name two sides of the corpus"

    @check
    def _languages(self) -> Faults:
        if self.kind == "translation":
            yield from not_languages(source=self.source, target=self.target)

    @check
    def _tokenised(self) -> Faults:
        known = self.kind == "translation" and self.models and not any(not_languages(target=self.target))
        if known and (fault := missing(self.target)):
            yield "target", fault

    @check
    def _folders(self) -> Faults:
        yield from (("models", fault) for fault in one_folder(self.models))


@dataclass(frozen=True, config=STRICT)
class Figures(Config):
    """The run whose attention is drawn in figures 3 to 5."""

    task: str | None = Field(description="name of its task; null: the first that is run")
    model: str | None = Field(description="name of its model; null: base, or the task's first Transformer")


@dataclass(frozen=True, config=STRICT)
class Searches(Config):
    """The grid of beam sizes and length penalties alpha with which dev is decoded (section 6.1)."""

    beams: SomeDistinct[Size] = Field(description="beam sizes")
    alphas: SomeDistinct[Alpha] = Field(description="length penalties; greedy search has none")


@dataclass(frozen=True, config=STRICT)
class Trial(Config):
    """An idea: a row that `snakemake trial` trains and compares with released scores, on the task of `figures`."""

    row: Name = Field(description="the model to try")
    against: Name = Field(default="base", description="a model with released scores")


def way(decoding: Decoding) -> str:
    """The name of a way of decoding, as claims and folders have it. Greedy search has no alpha."""
    alpha = str(decoding.alpha).removesuffix(".0")
    return f"beam-{decoding.beam}.alpha-{alpha}" if decoding.beam > 1 else "beam-1"

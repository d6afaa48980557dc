"""The list of metrics. Score files, tables, their signatures and a package's README.md are made from it."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import reduce
from operator import getitem
from pathlib import Path
from typing import Any

from transformer.evaluation.bleu import notes as bleu_notes
from transformer.evaluation.bleu import paper_bleu, sacrebleu
from transformer.evaluation.brackets import bracket_scores, score_parses
from transformer.evaluation.chrf import chrf
from transformer.package.config import TaskKind
from transformer.support.files import read_lines, read_parallel


@dataclass(frozen=True)
class Output:
    """A model's output for a part of a corpus, and what it is compared with."""

    perplexity: float
    translations: Path  # one sentence per line
    reference: Path  # reference translations, or gold trees
    language: str  # the language of the translations


@dataclass(frozen=True)
class Column:
    """A column of a table: one number of a metric."""

    key: str  # the key in a score file; a dot separates the keys of nested mappings
    heading: str
    digits: int
    published: str | None = None  # the key in config/published.yaml


@dataclass(frozen=True)
class Metric:
    """A metric. A score file has the result of `function` under `key`."""

    key: str
    function: Callable[[Output], Any]
    columns: tuple[Column, ...]
    kind: TaskKind | None = None  # the kind of tasks that it scores; None: all kinds
    details: tuple[Column, ...] = ()  # columns that only the csv has
    signature: str | None = None  # the signature's key in a score file
    second: bool = False  # a second opinion, beside others. Score files of earlier versions lack it


def _perplexity(output: Output) -> float:
    return output.perplexity


def _paper_bleu(output: Output) -> dict[str, Any]:
    return asdict(paper_bleu(*read_parallel(output.translations, output.reference), output.language))


def _sacrebleu(output: Output) -> dict[str, Any]:
    return asdict(sacrebleu(*read_parallel(output.translations, output.reference), output.language))


def _chrf(output: Output) -> dict[str, Any]:
    return asdict(chrf(*read_parallel(output.translations, output.reference)))


def _brackets(output: Output) -> dict[str, Any]:
    scored, repaired = score_parses(read_lines(output.translations), output.reference)
    short = bracket_scores(each for each in scored if each.length <= 40)  # like EVALB's second summary
    return {**asdict(bracket_scores(scored)), "up_to_40_words": asdict(short), "repaired": repaired}


def notes(output: Output, kind: TaskKind) -> list[str]:
    """Why the scores of a kind of task say little, if they do. Raises the InputErrors of `read_parallel` and BLEU."""
    texts = read_parallel(output.translations, output.reference) if kind == "translation" else None
    return bleu_notes(*texts, output.language) if texts else []


METRICS = (
    Metric("perplexity", _perplexity, (Column("perplexity", "Perplexity", 2, "ppl"),)),
    Metric(
        "paper_bleu",
        _paper_bleu,
        (Column("paper_bleu.score", "BLEU", 1, "bleu"),),
        "translation",
        signature="paper_bleu.signature",
    ),
    Metric(
        "sacrebleu",
        _sacrebleu,
        (Column("sacrebleu.score", "sacreBLEU", 1), Column("sacrebleu.length", "length", 2)),
        "translation",
        signature="sacrebleu.signature",
    ),
    Metric(
        "chrF",
        _chrf,
        (Column("chrF.score", "chrF", 1),),
        "translation",
        signature="chrF.signature",
        second=True,
    ),
    Metric(
        "brackets",
        _brackets,
        (
            Column("brackets.f1", "F1", 1, "f1"),
            Column("brackets.recall", "recall", 1),
            Column("brackets.precision", "precision", 1),
            Column("brackets.exact", "exact", 1),
            Column("brackets.repaired", "repaired", 0),
        ),
        "parsing",
        (
            Column("brackets.up_to_40_words.f1", "F1 up to 40 words", 2),
            Column("brackets.crossing", "average crossing", 2),
            Column("brackets.no_crossing", "no crossing", 2),
            Column("brackets.two_or_less_crossing", "2 or less crossing", 2),
            Column("brackets.valid", "valid", 0),
            Column("brackets.error", "error", 0),
            Column("brackets.skip", "skip", 0),
        ),
    ),
)


def metrics_of(kind: TaskKind, shared: bool = True, second: bool = False) -> Iterator[Metric]:
    """The metrics of a kind of task; without `shared` those of this kind alone, with `second` also second opinions."""
    own = (metric for metric in METRICS if metric.kind == kind or (metric.kind is None and shared))
    return (metric for metric in own if second or not metric.second)


def number_of(record: Mapping[str, Any], key: str) -> Any:
    """The number under a key of a record; a dot separates the keys of nested mappings. Raises KeyError."""
    return reduce(getitem, key.split("."), record)


def in_words(score: Mapping[str, Any], kind: TaskKind) -> str:
    """The numbers and signatures of a score file, in words. Raises KeyError for a metric that the file lacks."""
    texts = []
    for metric in metrics_of(kind, second=True):
        if metric.second and metric.key not in score:
            continue
        text = ", ".join(f"{each.heading} {number_of(score, each.key):.{each.digits}f}" for each in metric.columns)
        texts.append(f"{text} ({number_of(score, metric.signature)})" if metric.signature else text)
    return ", ".join(texts)


def keys() -> Sequence[str]:
    """The keys of everything in score files that tables show."""
    columns = (column.key for metric in METRICS for column in (*metric.columns, *metric.details))
    return [*columns, *(metric.signature for metric in METRICS if metric.signature)]

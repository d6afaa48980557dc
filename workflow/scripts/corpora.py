"""The corpora: the pairs that were read, the pairs that each cleaning step removed, and the pairs of each part."""

from collections.abc import Iterator, Mapping
from typing import Any

from records import read_json
from tables_common import Row, write_table

NOTES = [
    "The cleaning steps stand in the order in which they run. A pair is counted at the first step that removes it.",
    "If a corpus is given as files, only train is cleaned; dev and test stay whole.",
]


def corpus_rows(task: str, corpus: Mapping[str, Any]) -> Iterator[Row]:
    """A row for what was read, for each cleaning step, and for each part."""
    left = corpus["read"]
    yield corpus_row(task, corpus, "read", "", f"{left:,}")
    for step, removed in corpus["removed"].items():
        left -= removed
        yield corpus_row(task, corpus, step, f"{removed:,}", f"{left:,}")
    for part, pairs in corpus["pairs"].items():
        yield corpus_row(task, corpus, part, "", f"{pairs:,}")


def corpus_row(task: str, corpus: Mapping[str, Any], step: str, removed: str, left: str) -> Row:
    return {
        ("Task", ""): task,
        ("Corpus", ""): corpus["corpus"],
        ("Step or part", ""): step,
        ("Pairs", "removed"): removed,
        ("Pairs", "left"): left,
    }


def main(snakemake: Any) -> None:
    records = zip(snakemake.params.tasks, map(read_json, snakemake.input.corpora), strict=True)
    rows = [row for task, corpus in records for row in corpus_rows(task, corpus)]
    write_table(snakemake, rows, 3, NOTES)

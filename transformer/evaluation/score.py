"""The scores of a package on a part of its corpus, by each metric (section 6)."""

from collections.abc import Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from transformer.decoding.record import Record
from transformer.decoding.record import in_words as decoding_in_words
from transformer.evaluation.metrics import Output, in_words, metrics_of, notes
from transformer.package.config import PackageConfig
from transformer.support.files import InputError, read_json


def score(config: PackageConfig, part: str, record: Record, output: Output) -> dict[str, Any]:
    """The scores of a part. `record` tells how a package with this `config` translated it. Raises errors of metrics.

    The key `notes`, if there are any, says why the scores say little.
    """
    said = notes(output, config.kind)
    return {
        "task": config.task,
        "model": config.model,
        "seed": config.seed,
        "average": len(config.averaged),
        "part": part,
        "sentences": record.lines,
        "decoding": asdict(record),
        **{metric.key: metric.function(output) for metric in metrics_of(config.kind, second=True)},
        **({"notes": said} if said else {}),
    }


def scores_in_words(folder: Path, config: PackageConfig, scores: Sequence[Path]) -> Iterator[str]:
    """A line of text for each score file, for the README.md of the package in `folder`.

    Raises InputError for a file that is not a score file, or is one of another package.
    """
    made = {"task": config.task, "model": config.model, "seed": config.seed, "average": len(config.averaged)}
    for path in scores:
        record = read_json(path)
        if not made.keys() <= record.keys():
            raise InputError(f"{path}: is not a file that `score` writes; give one")
        if (other := {key: record.get(key) for key in made}) != made:
            raise InputError(f"{path}: has the scores of {other}, but {folder} is {made}; give those of this package")
        try:
            how = f"{record['part']}, {record['sentences']:,} sentences, {decoding_in_words(record['decoding'])}"
            yield f"{how}: {in_words(record, config.kind)}"
        except (KeyError, TypeError, ValueError) as error:
            raise InputError(f"{path}: is not a file that `score` writes ({error!r}); score again") from error

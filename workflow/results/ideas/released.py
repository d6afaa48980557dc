"""The released runs of a model, with which ideas are compared. Nothing is unpacked."""

import gzip
import os
import tarfile
import zlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from io import BytesIO
from pathlib import Path
from typing import Any

from transformer.evaluation.metrics import number_of
from transformer.evaluation.statistics import unpaired
from transformer.support.files import InputError, read_json
from transformer.support.strict import plain
from workflow.experiment.config import Experiment
from workflow.experiment.sources import RELEASED

KNOWN = ("E-t5", "E-alibi", "E-rotary")  # rows that are later ideas
PARTS = ("dev.scores.json", "package/config.json")


@dataclass(frozen=True)
class Released:
    """A run: its scores on dev, and the record of its package."""

    scores: Mapping[str, Any]
    package: Mapping[str, Any]


def archives() -> list[Path]:
    """The released scores (rule `scores`), by paths that stay the same if clone and working folder move together."""
    return [Path(os.path.relpath(os.path.realpath(path))) for path in sorted(RELEASED.glob("*/scores.tar.gz"))]


def released(experiment: Experiment, model: str, paths: Sequence[Path]) -> dict[int, Released]:
    """The released runs of a model by seed: those that `experiment` would train and decode alike.

    Each seed of each archive counts, also one that the experiment does not have. Raises InputError for an archive that
    cannot be read.
    """
    task = experiment.tasks[experiment.drawn[0]]
    expected = {key: getattr(task, key) for key in ("kind", "source", "target", "vocabulary")}
    expected |= {"decoding": plain(task.decoding)}
    middle = f"/runs/{experiment.drawn[0]}/{model}/"
    found: dict[int, Released] = {}
    for path in paths:
        files = _files(path, path.read_bytes())
        for name in files:
            folder, average, _ = name.partition(f"/average-{experiment.table3_average}/package/config.json")
            if middle not in name or not average or (scores := f"{name.removesuffix(PARTS[1])}{PARTS[0]}") not in files:
                continue
            package, seed = read_json(path / name, files[name]), int(folder.rpartition("/")[2])
            alike = {key: package.get(key) for key in expected} == expected
            same = package["training"]["config_sha256"] == experiment.run(experiment.drawn[0], model, seed).sha256()
            if alike and same and package["corpus"]["corpus"] == task.corpus:
                found.setdefault(seed, Released(read_json(path / scores, files[scores]), package))
    return dict(sorted(found.items()))


@lru_cache(maxsize=16)  # several models are asked for
def _files(path: Path, content: bytes) -> dict[str, bytes]:
    """The scores and records in an archive, by their names."""
    try:
        whole = gzip.decompress(content)  # this compares it with its checksum; tarfile does not
        with tarfile.open(fileobj=BytesIO(whole)) as archive:
            members = [member for member in archive if member.name.endswith(PARTS)]
            return {member.name: stream.read() for member in members if (stream := archive.extractfile(member))}
    except (OSError, EOFError, tarfile.TarError, zlib.error, ValueError) as error:
        raise InputError(f"{path}: cannot be read ({error}); get the file of the clone again") from error


def compared(name: str, rows: Iterable[Released], others: Iterable[Released], tail: float = 0.025) -> dict[str, Any]:
    """How a measure of runs differs from that of others, with an interval that has a chance of `tail` on either side.

    In favour of the former: percent less perplexity, or points of BLEU. `p` is that of a one-sided test (Welch's t,
    because runs of one seed share little more than the order of batches).
    """
    from workflow.results.claims.verdicts import MEASURES  # it loads what planning does not need

    measure = MEASURES[name]
    raw = [[number_of(run.scores, measure.key) for run in some] for some in (rows, others)]
    difference = unpaired(*([measure.value(each) for each in some] for some in raw))
    shown = map(measure.shown, (difference.value, *difference.interval(tail)))
    return dict(zip(("mean", "low", "high"), shown, strict=True)) | {
        "p": difference.above(0),
        "row": raw[0],
        "against": raw[1],
    }

"""What stands beside the verdicts of the claims and decides nothing: lengths, chrF, and p with a pooled error."""

import math
import re
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from operator import itemgetter
from statistics import fmean
from typing import Any, NamedTuple

from transformer.evaluation.claims import Effects, Error, effects, pooled_error, second_opinion
from transformer.evaluation.metrics import number_of
from workflow.results.claims.verdicts import Tested, effects_of, family
from workflow.results.common.cells import chance
from workflow.results.common.records import read_json
from workflow.results.common.table_formats import Row

LENGTHS = (
    "Length has the length of the output over that of the references (in SacreBLEU's tokens), the mean of each row in "
    "their order. BLEU has a penalty for output that is shorter. The column unpenalised has our difference without it: "
    "in sacreBLEU, divided by exp(1 - 1 / length) in each run whose length is below 1. The column chrF has our "
    "difference in chrF, which has no such penalty. A verdict in BLEU that they do not share is about length, too."
)
POOLED = (
    "The csv also has a second opinion, which decides nothing: the p called pooled, corrected in the same way, with an "
    "error pooled over all rows of the claims and of Table 3 that are scored in the same way with the same seeds. "
    "This error is what remains of a score without the means of its row and of its seed. It has more degrees of "
    "freedom, but assumes that all rows have one spread."
)

RUN = re.compile(r"^.*runs/([^/]+)/([^/]+)/(\d+)/(?=[^/]+/)")


def beside_verdicts(job: Any, tested: Sequence[Tested], rows: Sequence[Row]) -> tuple[list[Row], list[str]]:
    """The rows of the table with further columns, and the notes that explain those that are not empty."""
    pooled = _pooled(job.input.scores, tested)
    further = {
        ("In favour", "unpenalised"): [_difference(each, "sacrebleu", _unpenalised) for each in tested],
        ("In favour", "chrF"): [_difference(each, "chrF", itemgetter("score")) for each in tested],
        ("Length", ""): list(map(_lengths, tested)),
        ("p", "pooled"): [chance(pooled[name]) if (name := each.claim["name"]) in pooled else "" for each in tested],
    }
    longer = [
        inserted(row, dict(zip(further, cells, strict=True)))
        for row, *cells in zip(rows, *further.values(), strict=True)
    ]
    return longer, [LENGTHS] * any(further["Length", ""]) + [POOLED] * any(further["p", "pooled"])


def inserted(row: Row, cells: Row) -> Row:
    """A row with further cells, each after the last one with its heading."""
    headings = list(dict.fromkeys(heading for heading, _ in row | cells))
    return {column: cell for each in headings for column, cell in (row | cells).items() if column[0] == each}


def _scores(each: Tested, metric: str, number: Callable[[Mapping[str, Any]], float]) -> list[list[float]] | None:
    """A number of a metric [rows, seeds] of a claim on BLEU. None if an earlier version wrote a file without it."""
    if each.claim["metric"] != "bleu" or not len(each.each):
        return None
    read = [[read_json(path).get(metric) for path in row] for row in each.claim["scores"]]
    known = all(score is not None for row in read for score in row)
    return [list(map(number, row)) for row in read] if known else None


def _difference(each: Tested, metric: str, number: Callable[[Mapping[str, Any]], float]) -> str:
    """The mean effect of a claim on BLEU, in a number of another metric."""
    scores = _scores(each, metric, number)
    return "" if scores is None else each.difference(float(effects(scores).mean()))


def _unpenalised(sacrebleu: Mapping[str, Any]) -> float:
    """SacreBLEU without its brevity penalty."""
    score = float(sacrebleu["score"])  # 0 if there is no output
    return score and score / math.exp(min(0.0, 1 - 1 / sacrebleu["length"]))


def _lengths(each: Tested) -> str:
    """The mean length of each row's output over that of the references."""
    return ", ".join(f"{fmean(row):.3f}" for row in _scores(each, "sacrebleu", itemgetter("length")) or ())


class _Place(NamedTuple):
    """Where a score file belongs: its task with how it is scored; its model; its seed."""

    way: str
    model: str
    seed: str


def _place(path: str) -> _Place:
    _, task, model, seed, way = RUN.split(path)
    return _Place(f"{task}/{way}", model, seed)


def _pooled(scores: Sequence[str], tested: Sequence[Tested]) -> dict[str, float]:
    """The p with a pooled error of each judged claim whose rows are all scored in the same way."""
    read: dict[str, dict[str, dict[str, Any]]] = defaultdict(lambda: defaultdict(dict))
    for path in scores:
        way, model, seed = _place(path)
        read[way][model][seed] = read_json(path)
    families = defaultdict[str, dict[str, Effects]](dict)
    errors: dict[str, Error] = {}
    for each in tested:
        if each.judged and not each.timed:
            name = each.claim["name"]
            families[family(each.claim)][name] = effects_of(each.claim, each.each)
            if error := _error(each, read):
                errors[name] = error
    opinions = (second_opinion(claims, errors) for claims in families.values())
    return {name: p for opinion in opinions for name, p in opinion.items() if name in errors}


def _error(tested: Tested, read: Mapping[str, Mapping[str, Mapping[str, Any]]]) -> Error | None:
    """The error of a claim, pooled over all rows that are scored like its own; None if these are not scored alike.

    `read` has the score files: way -> model -> seed -> content.
    """
    places = [_place(path) for row in tested.claim["scores"] for path in row]
    ways, seeds = {place.way for place in places}, {place.seed for place in places}
    measure = tested.measure
    if measure.key in ("within", "longer") or len(ways) > 1:
        return None
    alike = [row for row in read[ways.pop()].values() if seeds <= row.keys()]
    values = [[measure.value(number_of(row[seed], measure.key)) for seed in sorted(seeds)] for row in alike]
    return pooled_error(values, len(tested.claim["scores"]))

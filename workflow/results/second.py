"""What stands beside the verdicts of the claims and decides nothing: chrF, and p with an error pooled over rows."""

import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from transformer.evaluation.claims import Effects, Error, effects, pooled_error, second_opinion
from transformer.evaluation.metrics import number_of
from workflow.results.cells import chance
from workflow.results.records import read_json
from workflow.results.table_formats import Row
from workflow.results.verdicts import Tested, effects_of, family

CHRF = (
    "The column chrF has our difference in chrF, in points, for claims on BLEU. chrF has no brevity penalty: where it "
    "is on the other side, look at the length of the translations first."
)
POOLED = (
    "The csv also has a second opinion, which decides nothing: the p called pooled, corrected in the same way, with an "
    "error pooled over all rows of the claims and of Table 3 that are scored in the same way with the same seeds. "
    "This error is what remains of a score without the means of its row and of its seed. It has more degrees of "
    "freedom, but assumes that all rows have one spread."
)

RUN = re.compile(r"^.*runs/([^/]+)/([^/]+)/(\d+)/(?=[^/]+/)")


def beside_verdicts(job: Any, tested: Sequence[Tested], rows: Sequence[Row]) -> tuple[list[Row], list[str]]:
    """The rows of the table with two further columns, and the notes that explain those that are not empty."""
    chrf, pooled = [*map(_chrf, tested)], _pooled(job.input.scores, tested)
    further = {
        ("In favour", "chrF"): [
            "" if value is None else each.difference(value) for each, value in zip(tested, chrf, strict=True)
        ],
        ("p", "pooled"): [chance(pooled[name]) if (name := each.claim["name"]) in pooled else "" for each in tested],
    }
    longer = [
        _inserted(row, dict(zip(further, cells, strict=True)))
        for row, *cells in zip(rows, *further.values(), strict=True)
    ]
    return longer, [note for note, cells in zip((CHRF, POOLED), further.values(), strict=True) if any(cells)]


def _inserted(row: Row, cells: Row) -> Row:
    """A row with further cells, each after the last one with its heading."""
    headings = list(dict.fromkeys(heading for heading, _ in row))
    return {column: cell for each in headings for column, cell in (row | cells).items() if column[0] == each}


def _chrf(each: Tested) -> float | None:
    """The mean effect in chrF of a claim on BLEU. None if an earlier version wrote one of its scores."""
    if each.claim["metric"] != "bleu" or not len(each.each):
        return None
    read = [[read_json(path).get("chrF") for path in row] for row in each.claim["scores"]]
    if any(chrf is None for row in read for chrf in row):
        return None
    return float(effects([[chrf["score"] for chrf in row] for row in read]).mean())


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

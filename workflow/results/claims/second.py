"""What stands beside the verdicts of the claims and decides nothing: lengths, chrF, and p with a pooled error."""

import math
import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache
from itertools import chain
from operator import itemgetter
from statistics import fmean

from transformer.evaluation.metrics import number_of
from transformer.evaluation.statistics import Hypothesis, effects, judge, pooled
from workflow.results.claims.verdicts import Tested
from workflow.results.common.records import read_json


def chrf(each: Tested) -> str:
    """The difference of a claim on BLEU in chrF."""
    return _difference(each, "chrF", itemgetter("score"))


def unpenalised(each: Tested) -> str:
    """The difference of a claim on BLEU in sacreBLEU without its brevity penalty."""

    def score(sacrebleu: Mapping[str, float]) -> float:  # 0 if there is no output
        return sacrebleu["score"] and sacrebleu["score"] / math.exp(min(0.0, 1 - 1 / sacrebleu["length"]))

    return _difference(each, "sacrebleu", score)


def lengths(each: Tested) -> str:
    """The mean length of each row's output over that of the references, for a claim on BLEU."""
    return ", ".join(f"{fmean(row):.3f}" for row in _numbers(each, "sacrebleu", itemgetter("length")))


def _difference(each: Tested, metric: str, number: Callable[[Mapping[str, float]], float]) -> str:
    numbers = _numbers(each, metric, number)
    return each.difference(float(effects(numbers).mean())) if numbers else ""


def _numbers(each: Tested, metric: str, number: Callable[[Mapping[str, float]], float]) -> list[list[float]]:
    """A number of a metric [rows, seeds] of a claim on BLEU. Empty if an earlier version wrote a file without it."""
    if each.claim.metric != "bleu" or not each.each:
        return []
    read = [[read_json(path).get(metric) for path in row] for row in each.planned.scores]
    return [list(map(number, row)) for row in read] if all(map(all, read)) else []


def pooled_p(scores: Iterable[str], tested: Sequence[Tested]) -> dict[str, float]:
    """The p of claims, by name, with an error that is pooled over all rows of `scores` that are scored like their own.

    A claim whose rows are not scored alike has none.
    """
    read = cache(read_json)
    rows: dict[str, dict[str, dict[str, str]]] = {}  # way -> model -> seed -> file
    for path in scores:
        way, model, seed = _place(path)
        rows.setdefault(way, {}).setdefault(model, {})[seed] = path

    def pool(each: Tested) -> Hypothesis | None:
        """What the claim says, of a mean with this error."""
        ways, _, seeds = map(set, zip(*(_place(path) for row in each.planned.scores for path in row), strict=True))
        if each.claim.metric in ("within", "longer") or len(ways) > 1:
            return None
        alike = [row for row in rows[ways.pop()].values() if seeds <= row.keys()]
        value, key, own = each.measure.value, each.measure.key, each.hypothesis
        values = [[value(number_of(read(row[seed]), key)) for seed in sorted(seeds)] for row in alike]
        return own._replace(effect=pooled(own.effect.value, values, len(each.planned.scores)))

    families = defaultdict[str, dict[str, Hypothesis]](dict)
    judged = {each.planned.name: (each, pool(each)) for each in tested if each.judged and each.family}
    for name, (each, other) in judged.items():
        families[each.family][name] = other or each.hypothesis
    opinions = chain.from_iterable(judge(family).items() for family in families.values())
    return {name: one.p for name, one in opinions if judged[name][1] and one.p is not None}


def _place(path: str) -> tuple[str, str, str]:
    """The task of a score file with how it is scored; its model; its seed."""
    task, model, seed, way = re.split(r".*runs/([^/]+)/([^/]+)/(\d+)/", path)[1:]
    return f"{task}/{way}", model, seed

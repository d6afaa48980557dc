"""Labelled brackets: recall, precision and F1 of constituency trees, as EVALB with COLLINS.prm counts them.

EVALB is the program of Sekine and Collins (1997) by which the numbers of Table 4 are made. It holds 200 words and
200 brackets a sentence; there is no such limit here.
"""

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from transformer.trees.linear import read_parses
from transformer.trees.penn import TRACE
from transformer.trees.tree import Leaf, Tree, tags, walk

DELETED = frozenset({"TOP", TRACE, ",", ":", "``", "''", "."})
EQUIVALENT = {"PRT": "ADVP"}


@dataclass(frozen=True)
class SentenceScore:
    """A predicted tree against the gold tree: EVALB's line of a sentence. Its counts are 0 unless it is valid.

    `error`: the words that are scored differ; `skip`: the predicted tree has none.
    """

    status: Literal["valid", "error", "skip"]
    length: int  # words of the gold tree, punctuation too
    matched: int = 0
    gold: int = 0
    predicted: int = 0
    crossing: int = 0  # predicted brackets that overlap a gold one, neither within the other
    words: int = 0
    tagged: int = 0  # words that have the gold tag


@dataclass(frozen=True)
class BracketScores:
    """Scores over the valid sentences of a corpus, in percent, and how many sentences were valid, errors, skipped."""

    f1: float
    recall: float
    precision: float
    exact: float
    crossing: float  # crossing brackets a sentence, no percentage
    no_crossing: float
    two_or_less_crossing: float
    tagging: float
    valid: int
    error: int
    skip: int


def brackets(tree: Tree) -> tuple[list[Leaf], Counter[tuple[str, int, int]]]:
    """What of a tree is scored: its leaves, and its brackets as (label, start, end), each with its count.

    Words whose tag is in DELETED go before positions are counted; brackets that are then empty, or whose
    label is in DELETED, go too. Labels lose their function (NP-SBJ is NP), and PRT is ADVP.
    """
    kept: list[Leaf] = []
    starts: list[int] = []
    counts: Counter[tuple[str, int, int]] = Counter()
    for item in walk(tree):
        if isinstance(item, Leaf):
            if item.tag not in DELETED:
                kept.append(Leaf(EQUIVALENT.get(item.tag, item.tag), item.word))
        elif item[0] == "(":
            starts.append(len(kept))
        else:
            label = re.split("[-=]", item[1:])[0]
            start = starts.pop()
            if start < len(kept) and label not in DELETED:
                counts[EQUIVALENT.get(label, label), start, len(kept)] += 1
    return kept, counts


def score_tree(gold: Tree, predicted: Tree) -> SentenceScore:
    """What of `predicted` is right. It should carry the gold tags, since they say what is punctuation: see `repair`."""
    length = sum(tag != TRACE for tag in tags(gold))
    gold_leaves, gold_brackets = brackets(gold)
    leaves, predicted_brackets = brackets(predicted)
    if not leaves:
        return SentenceScore("skip", length)
    if [leaf.word for leaf in gold_leaves] != [leaf.word for leaf in leaves]:
        return SentenceScore("error", length)
    crossing = (
        count
        for (_, start, end), count in predicted_brackets.items()
        if any(first < start < last < end or start < first < end < last for _, first, last in gold_brackets)
    )
    return SentenceScore(
        "valid",
        length,
        matched=(gold_brackets & predicted_brackets).total(),
        gold=gold_brackets.total(),
        predicted=predicted_brackets.total(),
        crossing=sum(crossing),
        words=len(leaves),
        tagged=sum(ours == theirs for ours, theirs in zip(leaves, gold_leaves, strict=True)),
    )


def bracket_scores(sentences: Iterable[SentenceScore]) -> BracketScores:
    """Scores over a corpus: brackets and words are summed over its sentences before dividing."""
    scored = list(sentences)
    status = Counter(each.status for each in scored)
    valid = [each for each in scored if each.status == "valid"]
    count = max(len(valid), 1)
    matched = sum(each.matched for each in valid)
    in_gold = sum(each.gold for each in valid)
    in_predicted = sum(each.predicted for each in valid)
    return BracketScores(
        f1=200 * matched / max(in_gold + in_predicted, 1),
        recall=100 * matched / max(in_gold, 1),
        precision=100 * matched / max(in_predicted, 1),
        exact=100 * sum(each.matched == each.gold == each.predicted for each in valid) / count,
        crossing=sum(each.crossing for each in valid) / count,
        no_crossing=100 * sum(each.crossing == 0 for each in valid) / count,
        two_or_less_crossing=100 * sum(each.crossing <= 2 for each in valid) / count,
        tagging=100 * sum(each.tagged for each in valid) / max(sum(each.words for each in valid), 1),
        valid=status["valid"],
        error=status["error"],
        skip=status["skip"],
    )


def score_parses(translations: Sequence[str], gold: Path) -> tuple[list[SentenceScore], int]:
    """Linearised trees against a file of gold trees, and how many of them had to be repaired.

    Raises InputError as `read_parses` does.
    """
    parses = read_parses(translations, gold)
    return [score_tree(tree, parse) for tree, parse, _ in parses], sum(repaired for _, _, repaired in parses)

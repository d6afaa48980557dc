"""Recall, precision and F1 of the labelled brackets of constituency trees, equal to EVALB's with COLLINS.prm.

EVALB is the program of Sekine and Collins (1997), by which numbers like those of Table 4 are computed. It takes at most
200 words and 200 brackets per sentence; this code has no such limit.
"""

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from transformer.trees.linear import read_parses
from transformer.trees.penn import ROOTS, TRACE
from transformer.trees.tree import Leaf, Tree, tags, walk

DELETED = frozenset({*ROOTS, TRACE, ",", ":", "``", "''", "."})
EQUIVALENT = {"PRT": "ADVP"}


@dataclass(frozen=True)
class SentenceScore:
    """A predicted tree compared with the gold tree: EVALB's line for a sentence. Counts are 0 unless it is `valid`.

    `error`: the trees differ in the words that are scored. `skip`: the predicted tree has no such words.
    """

    status: Literal["valid", "error", "skip"]
    length: int  # words of the gold tree, including punctuation
    matched: int = 0
    gold: int = 0
    predicted: int = 0
    crossing: int = 0  # predicted brackets that overlap a gold one, where neither contains the other
    words: int = 0
    tagged: int = 0  # words whose predicted tag is the gold tag


@dataclass(frozen=True)
class BracketScores:
    """Scores of a corpus in percent, over its valid sentences, and the number of sentences of each status."""

    f1: float
    recall: float
    precision: float
    exact: float
    crossing: float  # crossing brackets per sentence, not a percentage
    no_crossing: float
    two_or_less_crossing: float
    tagging: float
    valid: int
    error: int
    skip: int


def brackets(tree: Tree) -> tuple[list[Leaf], Counter[tuple[str, int, int]]]:
    """The parts of a tree that are scored: its leaves, and its brackets (label, start, end) with their counts.

    Words whose tag is in DELETED are removed before positions are counted. Then empty brackets are removed, and
    brackets whose label is in DELETED: TOP, as in COLLINS.prm, and the other ROOTS. Labels lose their function (NP-SBJ
    becomes NP), and PRT becomes ADVP.
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
    """Score a predicted tree. It should carry the gold tags (see `repair`), because tags decide what is punctuation."""
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
    """The scores of a corpus: brackets and words are summed over all sentences before dividing."""
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
    """Score linearised trees against a file of gold trees. Also returns how many of them had to be repaired.

    Raises the errors of `read_parses`.
    """
    parses = read_parses(translations, gold)
    return [score_tree(tree, parse) for tree, parse, _ in parses], sum(repaired for _, _, repaired in parses)

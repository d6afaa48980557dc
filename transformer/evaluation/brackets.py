"""Labelled brackets: recall, precision and F1 of constituency trees, as EVALB with COLLINS.prm counts them.

EVALB is the program of Sekine and Collins (1997) by which the numbers of Table 4 are made.
"""

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from transformer.files import InputError
from transformer.parsing.trees import Leaf, Tree, read_trees, repair, tags, walk, words

DELETED = frozenset({"TOP", "-NONE-", ",", ":", "``", "''", "."})
EQUIVALENT = {"PRT": "ADVP"}


@dataclass(frozen=True)
class BracketScores:
    """Scores over a corpus, in percent, and the sentences that they are over."""

    f1: float
    recall: float
    precision: float
    exact: float
    sentences: int


def brackets(tree: Tree) -> tuple[list[str], Counter[tuple[str, int, int]]]:
    """What of a tree is scored: its words, and its brackets as (label, start, end), each with its count.

    Words whose tag is in DELETED go before positions are counted; brackets that are then empty, or whose
    label is in DELETED, go too. Labels lose their function (NP-SBJ is NP), and PRT is ADVP.
    """
    kept: list[str] = []
    starts: list[int] = []
    counts: Counter[tuple[str, int, int]] = Counter()
    for item in walk(tree):
        if isinstance(item, Leaf):
            if item.tag not in DELETED:
                kept.append(item.word)
        elif item[0] == "(":
            starts.append(len(kept))
        else:
            label = re.split("[-=]", item[1:])[0]
            start = starts.pop()
            if start < len(kept) and label not in DELETED:
                counts[EQUIVALENT.get(label, label), start, len(kept)] += 1
    return kept, counts


def score(pairs: Iterable[tuple[Tree, Tree]]) -> BracketScores:
    """Scores of (gold, predicted) trees: brackets are summed over the corpus before dividing.

    A prediction carries the gold tags (`repair` copies them), since they say what is punctuation. A sentence
    of nothing else is not counted. Raises ValueError naming the first pair, from 1, whose words differ.
    """
    matched = in_gold = in_predicted = exact = sentences = 0
    for number, (gold, predicted) in enumerate(pairs, start=1):
        gold_words, gold_brackets = brackets(gold)
        predicted_words, predicted_brackets = brackets(predicted)
        if gold_words != predicted_words:
            raise ValueError(f"pair {number}: the words differ, {gold_words} and {predicted_words}")
        if not gold_words:
            continue
        sentences += 1
        exact += gold_brackets == predicted_brackets
        matched += (gold_brackets & predicted_brackets).total()
        in_gold += gold_brackets.total()
        in_predicted += predicted_brackets.total()
    return BracketScores(
        f1=200 * matched / max(in_gold + in_predicted, 1),
        recall=100 * matched / max(in_gold, 1),
        precision=100 * matched / max(in_predicted, 1),
        exact=100 * exact / max(sentences, 1),
        sentences=sentences,
    )


def score_parses(translations: Sequence[str], gold: Path) -> tuple[BracketScores, int]:
    """Scores of linearised trees against a file of gold trees, and how many of them had to be repaired.

    Raises InputError when there are not as many translations as gold trees, or as `read_trees` does.
    """
    trees = read_trees(gold)
    if len(translations) != len(trees):
        raise InputError(f"{gold} has {len(trees)} trees for {len(translations)} translations; translate the same part")
    parses = [repair(line.split(), words(tree), tags(tree)) for line, tree in zip(translations, trees, strict=True)]
    scores = score(zip(trees, (parse for parse, _ in parses), strict=True))
    return scores, sum(repaired for _, repaired in parses)

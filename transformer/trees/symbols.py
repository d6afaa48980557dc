"""What linearised trees are written with: brackets that carry their label, and leaves in place of words."""

import re
from collections.abc import Iterable
from typing import Literal

Leaves = Literal["XX", "tags", "words"]  # what stands for words in linearised trees
WORD = "XX"
LEAF = re.compile(r"[^()\s]+")


def leaves(tokens: Iterable[str]) -> list[str]:
    """What stands for words in a decoder's output: all that has no parenthesis."""
    return [token for token in tokens if LEAF.fullmatch(token)]


def symbols(sources: Iterable[str], targets: Iterable[str]) -> list[str]:
    """Every symbol of linearised trees, sorted: brackets, and XX or tags; where leaves are the words, no leaves."""
    found: set[str] = set()
    of_words = 0  # trees whose leaves are the words, less the others
    for source, target in zip(sources, targets, strict=False):
        tokens = target.split()
        found.update(tokens)
        of_words += 1 if leaves(tokens) == source.split() else -1
    return sorted(found.difference(leaves(found)) if of_words > 0 else found)

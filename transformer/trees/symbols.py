"""The symbols of linearised trees: brackets that carry their label, and leaves that stand for words."""

import re
from collections.abc import Iterable
from typing import Literal

Leaves = Literal["XX", "tags", "words"]  # what stands for words in linearised trees
WORD = "XX"
BLANK = "\t-\r "  # the ASCII blanks, in a class of a regular expression
LEAF = re.compile(f"[^(){BLANK}]+")


def split_words(line: str) -> list[str]:
    """The words of a sentence, or the symbols of a linearised tree.

    Only ASCII blanks separate them, because a word may contain others, as in 5 000 with a no-break space. Blanks alone
    are no word.
    """
    return [word for word in re.split(f"[{BLANK}]+", line) if word and not word.isspace()]


def leaves(tokens: Iterable[str]) -> list[str]:
    """The leaves in a decoder's output: all tokens without a parenthesis."""
    return [token for token in tokens if LEAF.fullmatch(token)]


def symbols(sources: Iterable[str], targets: Iterable[str]) -> list[str]:
    """All symbols of linearised trees, sorted: the brackets, and the leaves unless most trees have words as leaves."""
    seen: set[str] = set()
    of_words = 0  # the number of trees whose leaves are the words, minus the number of others
    for source, target in zip(sources, targets, strict=False):
        tokens = split_words(target)
        seen.update(tokens)
        of_words += 1 if leaves(tokens) == split_words(source) else -1
    return sorted(seen.difference(leaves(seen)) if of_words > 0 else seen)

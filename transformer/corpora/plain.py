"""Plain English sentences to be parsed, tokenised like the Penn Treebank."""

import hashlib
import heapq
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path

from pydantic import Field
from pydantic.dataclasses import dataclass

from transformer.corpora.usable import unusable
from transformer.support.fields import STRICT, Config, Positive, Range, Seed
from transformer.support.files import InputError, stream_lines

_PENN = str.maketrans(
    {"“": "``", "„": "``", "«": "``", "”": "''", "»": "''", "‘": "`", "’": "'"}
    | {"–": "--", "—": "--", "…": "...", "/": r"\/", "*": r"\*"}
)


@dataclass(frozen=True, config=STRICT)
class PlainText(Config):
    """Sentences without trees, which the first parser parses."""

    task: str = Field(description="the task from whose training sources they are drawn")
    sentences: Positive = Field(description="number of sentences")
    words: Range = Field(description="the smallest and the greatest number of words in one")
    seed: Seed = Field(description="seed of the drawing")


def tokenise(line: str) -> list[str]:
    """The words of English text in the form of the Penn Treebank: do n't, `` '' for quotes, -LRB-, --, 1\\/2."""
    # This import is slow, and the workflow imports this module.
    from nltk.tokenize import TreebankWordTokenizer

    return TreebankWordTokenizer().tokenize(line.translate(_PENN), convert_parentheses=True)


def plain_sentences(
    path: Path, count: int, words: tuple[int, int], seed: int, fits: Callable[[str], bool] = lambda _: True
) -> list[str]:
    """Draw `count` different sentences of words[0] to words[1] words (`tokenise`) from a text, one a line, by `seed`.

    Every different line is equally likely, however often it comes. The text is read once, and only the drawn sentences
    are held in memory. Lines that a model cannot read, and sentences that do not fit into it, are left out, and a
    message counts them. Raises InputError when there are too few sentences, and the InputErrors of `stream_lines`.
    """
    drawn: list[tuple[int, str]] = []  # a heap of (negated lot, sentence): the highest lot comes first
    sentences: set[str] = set()
    key = str(seed).encode()
    left_out: Counter[str] = Counter()
    for line in stream_lines(path):
        if line.strip() and (reason := unusable(line, line)):
            left_out[reason] += 1
            continue
        lot = -int.from_bytes(hashlib.blake2b(line.encode(), digest_size=8, key=key).digest())
        if (len(drawn) == count and lot <= drawn[0][0]) or len(line.split()) > words[1]:
            continue
        tokens = tokenise(line)
        sentence = " ".join(tokens)
        if not words[0] <= len(tokens) <= words[1] or sentence in sentences:
            continue
        if fits(sentence):
            heapq.heappush(drawn, (lot, sentence))
            sentences.add(sentence)
            if len(drawn) > count:
                sentences.remove(heapq.heappop(drawn)[1])
        else:
            left_out["too many subwords"] += 1
    for reason, lines in left_out.items():
        print(f"{path}: {lines:,} lines are left out ({reason})", file=sys.stderr)
    if len(drawn) < count:
        raise InputError(
            f"{path}: only {len(drawn)} different sentences of {words[0]} to {words[1]} words, not {count}; "
            "ask for fewer or allow other lengths"
        )
    return [sentence for _, sentence in sorted(drawn, reverse=True)]

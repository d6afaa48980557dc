"""Decide which pairs of a corpus are kept."""

import hashlib
import sys
from typing import Annotated, Literal

from pydantic import Field
from pydantic.dataclasses import dataclass

from transformer.corpora.usable import UNUSABLE, unusable
from transformer.support.fields import AS_NUMBER, STRICT, Config, Range
from transformer.support.scripts import count_words


@dataclass(frozen=True, config=STRICT)
class Cleaning(Config):
    """The conditions on which a pair is kept."""

    words: Range = Field(default=(1, 250), description="the smallest and the greatest number of words on a side")
    ratio: Annotated[float, Field(ge=1), AS_NUMBER] = Field(
        default=9.0, description="the greatest ratio of the two sides' numbers of words"
    )
    identical: Literal["keep", "remove"] = Field(default="keep", description="pairs with equal sides (untranslated)")
    duplicates: Literal["keep", "pair", "source"] = Field(
        default="keep", description="keep all, the first of equal pairs, or the first of each source"
    )


MANY = 0.1  # a warning reports each step that removes more than this share of the pairs
LONG = 100  # words; few sentences have more
NEARLY_ALL = 0.9  # if more than this share of the pairs have equal sides, these may be one language
MANY_LONG = 0.02  # if more than this share of the pairs have a side above LONG, lines may be paragraphs


class Cleaner:
    """Decides on one pair after the other; `removed` counts the pairs that each step removes, in the order of steps.

    The steps remove pairs with an empty side, with a NUL character (which no vocabulary has), with a side of which no
    subword is left, with identical sides, with too few or too many words on a side, with a ratio of words that is too
    large, and repetitions of a pair or a source that was kept. Memory grows only if duplicates are removed, by about
    100 bytes for each pair.
    """

    def __init__(self, cleaning: Cleaning):
        self.cleaning = cleaning
        self.removed = dict.fromkeys(UNUSABLE, 0)
        if cleaning.identical == "remove":
            self.removed["identical sides"] = 0
        self.removed |= {"words": 0, "ratio": 0}
        self.duplicate = f"duplicate {cleaning.duplicates}"
        if cleaning.duplicates != "keep":
            self.removed[self.duplicate] = 0
        self.seen: set[bytes] = set()
        self.read = self.long = self.equal = 0

    def keeps(self, source: str, target: str) -> bool:
        """Whether a pair is kept."""
        self.read += 1
        return self._counted(self.fault(source, target))

    def usable(self, source: str, target: str) -> bool:
        """Whether a pair that was kept is still usable after a later step has changed it."""
        return self._counted(unusable(source, target))

    def _counted(self, fault: str) -> bool:
        if fault:
            self.removed[fault] += 1
        return not fault

    def warn(self, name: str) -> None:
        """Warn of many long lines, of equal sides, and of each step that removed many pairs of corpus `name`."""
        told = [
            (
                self.long,
                MANY_LONG,
                f"have a side of more than {LONG} words, so lines may be paragraphs; put one sentence on a line "
                "(docs/reading.md names programs), because training leaves out pairs longer than `longest_pair`",
            ),
            (
                self.equal,
                NEARLY_ALL,
                "have two equal sides, so both may be one language; name the text of each language, or remove these "
                "pairs with `cleaning: {identical: remove}`",
            ),
        ]
        for step, count in self.removed.items():
            cure = "repair the text" if step in UNUSABLE else "if they are good, change `cleaning`"
            told.append((count, MANY, f"are removed by cleaning for `{step}`; {cure}"))
        for count, share, what in told:
            if count > share * self.read:
                part = f"{count:,} of {self.read:,} pairs of train ({count / self.read:.0%})"
                print(f"warning: {name}: {part} {what}", file=sys.stderr)

    def fault(self, source: str, target: str) -> str:
        """The step that removes a pair; empty if the pair is kept."""
        if reason := unusable(source, target):
            return reason
        least, most = self.cleaning.words
        shorter, longer = sorted((count_words(source), count_words(target)))
        self.long += longer > LONG
        if source == target and self.cleaning.identical == "remove":
            return "identical sides"
        self.equal += source == target
        if shorter < least or longer > most:
            return "words"
        if longer > self.cleaning.ratio * shorter:
            return "ratio"
        if self.cleaning.duplicates == "keep":
            return ""
        text = source if self.cleaning.duplicates == "source" else f"{source}\n{target}"
        digest = hashlib.blake2b(text.encode(), digest_size=12).digest()
        if digest in self.seen:
            return self.duplicate
        self.seen.add(digest)
        return ""

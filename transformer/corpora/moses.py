"""Parallel texts, lower-cased and tokenised like those of Moses' scripts."""

import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Literal

from pydantic import Field
from pydantic.dataclasses import dataclass

from transformer.corpora.parts import PARTS, Given, Pair
from transformer.corpora.texts import Files, Texts
from transformer.support.faults import Keys, unknown
from transformer.support.fields import STRICT, Faults, check
from transformer.support.files import InputError, stream_lines
from transformer.support.languages import code_of


def moses_lowercase(name: str) -> Callable[[str], str]:
    """A function that applies Moses' lowercase, normalize-punctuation and tokenizer, in this order, to a line.

    Blanks separate tokens. &, <, >, |, quotes and square brackets are escaped, as in `&amp;`. Raises the InputError of
    `code_of` for the name of a language.
    """
    # This import is slow, and the workflow imports this module.
    from sacremoses import MosesPunctNormalizer, MosesTokenizer

    code = code_of(name)
    normaliser, tokeniser = MosesPunctNormalizer(code), MosesTokenizer(code)
    return lambda line: " ".join(tokeniser.tokenize(normaliser.normalize(line.lower())))


@dataclass(frozen=True, config=STRICT)
class MosesFiles(Files):
    """Parallel texts, read and cleaned like `Files`, then lower-cased and tokenised (`moses_lowercase`)."""

    origin: Literal["moses-lowercase"] = Field(description="files, tokenised")  # type: ignore[assignment]
    tests: dict[str, Texts] = Field(default_factory=dict, description="further test sets, by name")
    tokens: dict[str, dict[str, int]] = Field(
        default_factory=dict, description="number of tokens: part -> language -> tokens"
    )

    @check
    def _names(self) -> Faults:
        for part in self.tests:
            if part in (*PARTS, "longer", "plain") or not re.fullmatch(r"[a-z][a-z0-9_]*", part):
                yield ("tests", part), "cannot name a further test set; write a name such as test_2017, in lower case"

    @check
    def _counted(self) -> Faults:
        parts, languages = (*PARTS, *self.tests), dict.fromkeys(language for text in self.train for language in text)
        for part, counts in self.tokens.items():
            if part not in parts:
                yield ("tokens", part), unknown(part, parts, "part")
            for language in counts:
                if language not in languages:
                    yield ("tokens", part, language), unknown(language, languages, "language")

    def write(self, folder: Path, given: Given, *, name: str, source: str, target: str) -> None:
        """Read parallel texts, clean train, tokenise all, and write the corpus to `folder`.

        Raises the InputErrors of `Files.write`, and InputError for a side with another number of tokens than `tokens`.
        """
        super().write(folder, given, name=name, source=source, target=target)
        sides = {source: "source", target: "target"}
        for part, counts in self.tokens.items():
            for language in counts.keys() & sides:
                counted = sum(len(line.split()) for line in stream_lines(folder / f"{part}.{sides[language]}"))
                if counted != counts[language]:
                    raise InputError(
                        f"corpora.{name}.tokens.{part}.{language}: the text has {counted} tokens, not "
                        f"{counts[language]}; use the text and the sacremoses (requirements.txt) that gave this "
                        "number, or correct it"
                    )

    def _parts(self) -> Sequence[str]:
        return (*super()._parts(), *self.tests)

    def _part(self, part: str) -> tuple[Keys, Texts]:
        return (("tests", part), self.tests[part]) if part in self.tests else super()._part(part)

    def _written(self, source: str, target: str) -> Callable[[str, str], Pair]:
        sides = [moses_lowercase(name) for name in (source, target)]
        return lambda *pair: (sides[0](pair[0]), sides[1](pair[1]))

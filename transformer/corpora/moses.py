"""Parallel texts, lower-cased and tokenised like those of Moses' scripts."""

import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Literal

from pydantic import Field
from pydantic.dataclasses import dataclass

from transformer.corpora.cleaning import Cleaning
from transformer.corpora.parts import PARTS, Given, write_record
from transformer.corpora.texts import Files, Texts
from transformer.model.ids import LONGEST
from transformer.support.faults import unknown
from transformer.support.fields import STRICT, Faults, check
from transformer.support.files import InputError, atomic, read_json, stream_lines

ALL = Cleaning(words=(1, LONGEST), ratio=LONGEST)  # keeps every pair that can be decoded


def moses_lowercase(lines: Iterable[str], language: str) -> Iterator[str]:
    """Apply Moses' lowercase, normalize-punctuation and tokenizer, in this order, to each line.

    Blanks separate tokens. &, <, >, |, quotes and square brackets are escaped, as in `&amp;`.
    """
    # This import is slow, and the workflow imports this module.
    from sacremoses import MosesPunctNormalizer, MosesTokenizer

    normaliser, tokeniser = MosesPunctNormalizer(language), MosesTokenizer(language)
    for line in lines:
        yield " ".join(tokeniser.tokenize(normaliser.normalize(line.lower())))


@dataclass(frozen=True, config=STRICT)
class MosesFiles(Files):
    """Parallel texts, read and cleaned like `Files`, then lower-cased and tokenised (`moses_lowercase`)."""

    origin: Literal["moses-lowercase"] = Field(description="files, tokenised")  # type: ignore[assignment]
    tests: dict[str, Texts] = Field(default_factory=dict, description="further test sets, by name")
    tokens: dict[str, dict[str, int]] = Field(
        default_factory=dict, description="number of tokens: part -> language -> tokens"
    )

    @check("tests")
    def _names(self) -> Faults:
        for part in self.tests:
            if part in (*PARTS, "longer", "plain") or not re.fullmatch(r"[a-z]\w*", part):
                yield ("tests", part), "cannot name a further test set; write a name such as test_2017"

    @check("test", "tests", "tokens")
    def _counted(self) -> Faults:
        parts, languages = (*PARTS, *self.tests), dict.fromkeys(language for text in self.test for language in text)
        for part, counts in self.tokens.items():
            if part not in parts:
                yield ("tokens", part), unknown(part, parts, "part")
            for language in counts:
                if language not in languages:
                    yield ("tokens", part, language), unknown(language, languages, "language")

    def files(self, name: str, source: str, target: str) -> list[str]:
        """The files and URLs of all parts; see `Kind.files`."""
        further = [self._further(part).files(f"{name}.tests.{part}", source, target) for part in self.tests]
        return list(dict.fromkeys(file for files in (super().files(name, source, target), *further) for file in files))

    def write(self, folder: Path, given: Given, *, name: str, source: str, target: str) -> None:
        """Read parallel texts, clean train, tokenise all, and write the corpus to `folder`.

        Raises the InputErrors of `Files.write`, and InputError for a side with another number of tokens than `tokens`.
        """
        super().write(folder, given, name=name, source=source, target=target)
        record = read_json(folder / "corpus.json")
        for part in self.tests:
            with TemporaryDirectory(dir=folder) as alone:
                further = f"{name}.tests.{part}"
                self._further(part).write(Path(alone), given, name=further, source=source, target=target)
                record["pairs"][part] = read_json(Path(alone, "corpus.json"))["pairs"]["test"]
                for side in ("source", "target"):
                    Path(alone, f"test.{side}").replace(folder / f"{part}.{side}")
        for part in ("dev", "test", *self.tests, "train"):
            for side, language in (("source", source), ("target", target)):
                counted = _tokenise(folder / f"{part}.{side}", language)
                expected = self.tokens.get(part, {}).get(language, counted)
                if counted != expected:
                    raise InputError(
                        f"corpora.{name}.tokens.{part}.{language}: the text has {counted} tokens, not {expected}; "
                        "use the text and the sacremoses (requirements.txt) that gave this number, or correct it"
                    )
        write_record(folder, record["pairs"], record["removed"], self, name=name, source=source, target=target)

    def _further(self, part: str) -> Files:
        """A further test set as its own corpus; all parts of that corpus are the same text."""
        texts = self.tests[part]
        return _Further("files", train=texts, dev=texts, test=texts, cleaning=ALL)


class _Further(Files):
    def _key(self, name: str, part: str) -> str:
        return f"corpora.{name}"


def _tokenise(path: Path, language: str) -> int:
    """Replace a text with its tokens. Returns how many there are."""
    count = 0
    with atomic(path) as stream:
        for line in moses_lowercase(stream_lines(path), language):
            count += len(line.split())
            stream.write(line.encode() + b"\n")
    return count

"""Corpora from parallel texts: your own files, or downloads."""

import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Literal

from pydantic import Field
from pydantic.dataclasses import dataclass

from transformer.corpora.cleaning import Cleaner, Cleaning
from transformer.corpora.fetch import local_path
from transformer.corpora.hold_out import HoldOut, hold_out, shared
from transformer.corpora.location import Location
from transformer.corpora.parts import DESCRIPTION, LICENCE, PARTS, Given, Kind, Pair, write_part, write_record
from transformer.corpora.reading import XML, Asked, open_pairs
from transformer.corpora.units import UNITS
from transformer.corpora.usable import undecodable
from transformer.support.faults import ConfigError, Fault, Keys, unknown
from transformer.support.fields import STRICT, Faults, Positive, Some, check
from transformer.support.files import InputError, same_file
from transformer.support.progress import Progress
from transformer.support.strict import added

FEW = 0.01  # the share of pairs that two parts may have in common without a warning
Texts = Some[dict[str, str]]  # a text is language -> location (transformer.corpora.location.Location)


@dataclass(frozen=True, config=STRICT)
class Files(Kind):
    """A corpus of parallel texts: your own files, or downloads. The texts of a part are read one after the other."""

    origin: Literal["files"] = Field(description="your own files, or downloads")
    train: Texts = Field(description="texts, each with a location for each language (docs/reading.md)")
    dev: Texts | None = Field(
        default=None, description="texts for choosing settings; or `hold_out` takes pairs of train"
    )
    test: Texts | None = Field(default=None, description="texts for the results; or `hold_out` takes pairs of train")
    description: str = Field(default="own text", description=DESCRIPTION)
    licence: str = Field(default="licence not stated", description=LICENCE)
    cleaning: Cleaning = Field(default_factory=Cleaning, description="the conditions on which a pair of train is kept")
    pairs: Positive | None = Field(default=None, description="number of pairs in train before cleaning, for `plan`")
    hold_out: HoldOut | None = added(None, "pairs of train that become dev and test")

    @check
    def _every_part_once(self) -> Faults:
        held_out = self.hold_out.parts if self.hold_out else {}
        for part in ("dev", "test"):
            if part in held_out and getattr(self, part):
                yield ["hold_out", part], f"{part} has texts, so it cannot be held out of train; remove one of the two"
            elif part not in held_out and not getattr(self, part):
                yield (
                    part,
                    "missing; name its texts, or hold pairs of train out, as in hold_out: {dev: 1000, test: 2000}",
                )

    def files(self, name: str, source: str, target: str) -> list[str]:
        """The files and URLs of all parts; see `Kind.files`."""
        pairs = [pair for part in self._parts() for pair in self._texts(part, name, source, target)]
        return list(dict.fromkeys(Location.parse(text).file for pair in pairs for text in pair))

    def languages(self) -> tuple[str, list[str]]:
        """See `Kind.languages`."""
        texts = (text for part in self._parts() for text in self._part(part)[1])
        return "train", list(dict.fromkeys(language for text in texts for language in text))

    def count(self, of: Callable[[str], Kind]) -> tuple[int | None, int]:
        """See `Kind.count`."""
        return self.pairs, 0

    def write(self, folder: Path, given: Given, *, name: str, source: str, target: str) -> None:
        """Read parallel texts, clean train, and write the corpus to `folder`.

        Dev, test and further test sets are not cleaned, because scores are comparable only on the same text. Raises the
        InputErrors of `transformer.corpora.reading.open_pairs`, and InputError for an unusable pair of such a part, and
        if train has all of its pairs.
        """
        cleaner, written = Cleaner(self.cleaning), self._written(source, target)
        progress = Progress(f"{name} {source}-{target}", self.pairs, "pair")
        asked = Asked((source, target))

        def cleaned(pairs: Iterable[Pair]) -> Iterator[Pair]:
            for pair in pairs:
                progress.update(1)
                if cleaner.keeps(*pair):
                    changed = written(*pair)
                    if changed == pair or cleaner.usable(*changed):
                        yield changed

        def checked(pairs: Iterable[Pair], texts: tuple[str, str]) -> Iterator[Pair]:
            place = "translated unit" if Location.parse(texts[0]).kind in UNITS else "line"
            for number, pair in enumerate(pairs, start=1):
                changed = written(*pair)
                if reason := undecodable(*pair) or undecodable(*changed):
                    files = " and ".join(dict.fromkeys(texts))
                    raise InputError(f"{files}, {place} {number}: {reason}; correct or remove this pair")
                yield changed

        def read(part: str) -> Iterator[Pair]:
            for texts in self._texts(part, name, source, target):
                with open_pairs(*texts, lambda url: given.downloads / local_path(url), folder, asked) as pairs:
                    yield from cleaned(pairs) if part == "train" else checked(pairs, texts)

        parts = self._parts()
        sizes = dict.fromkeys((*PARTS, *parts), 0)
        for part in sorted(parts, key=lambda part: part == "train"):  # the longest is read last
            sizes[part] = write_part(folder, part, read(part), cleaner.removed, name)
            if part != "train":
                for reason, units in asked.left_out.items():
                    print(f"{name}: {units:,} units of {part} are left out ({reason})", file=sys.stderr)
                asked.left_out.clear()
        progress.close()
        cleaner.warn(name)
        cleaner.removed = {**asked.left_out, **cleaner.removed}
        if self.hold_out:
            sizes |= hold_out(folder, self.hold_out, cleaner.removed, name)
        self._check_shared(folder, sizes, name)
        write_record(folder, sizes, cleaner.removed, self, name=name, source=source, target=target)

    def _check_shared(self, folder: Path, sizes: Mapping[str, int], name: str) -> None:
        """Warn if train has many pairs of dev or test, too, or dev of test. See `shared`.

        Raises InputError if train has all pairs of a part.
        """
        parts = [part for part in self._parts() if part != "train"]
        for one, others in (("train", parts), ("dev", [part for part in parts if part != "dev"])):
            for part, count in shared(folder, one, others).items():
                told = (
                    f"{one} has {count:,} of the {sizes[part]:,} pairs of {part}, so scores flatter; remove them from "
                )
                told += f"{one}, or leave out {part} and hold pairs of train out, as in hold_out: {{test: 1000}}"
                if one == "train" and count == sizes[part]:
                    raise InputError(f"corpora.{name}: {told}")
                if count > FEW * sizes[part]:
                    print(f"warning: {name}: {told}", file=sys.stderr)

    def _parts(self) -> Sequence[str]:
        """The names of the parts that have texts."""
        return [part for part in PARTS if getattr(self, part)]

    def _written(self, source: str, target: str) -> Callable[[str, str], Pair]:
        """How a pair of these languages is written: as it is read."""
        return lambda *pair: pair

    def _texts(self, part: str, name: str, source: str, target: str) -> list[tuple[str, str]]:
        """The locations of a part, as (source, target).

        Raises ConfigError for a missing language, a wrong location, and sides that are one text.
        """
        keys, texts = self._part(part)
        for i, text in enumerate(texts):
            place, sides = ("corpora", name, *keys, i), (source, target)
            for language in sides:
                if language not in text:
                    fault = f"{unknown(language, text, 'language')} (the task is from {source} to {target}); name a "
                    fault += "file that has both languages, such as a .tmx, for each of them"
                    raise ConfigError("", [Fault(place, fault)])
            one, other = (Location.of((*place, language), text[language]) for language in sides)
            same = one == replace(other, file=one.file) and same_file(Path(one.file), Path(other.file))
            if same and one.kind not in (*UNITS, XML):
                fault = f"{text[source]} is named for both {source} and {target}; name a text or column for each"
                raise ConfigError("", [Fault(place, fault)])
        return [(text[source], text[target]) for text in texts]

    def _part(self, part: str) -> tuple[Keys, Texts]:
        """The keys of a part in the corpus's config, and its texts."""
        return (part,), getattr(self, part) or ()

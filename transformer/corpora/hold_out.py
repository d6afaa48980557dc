"""Hold pairs of train out for dev and test, so that train keeps no sentence of theirs."""

import hashlib
import heapq
from collections.abc import Iterable, Iterator
from pathlib import Path

from pydantic import Field
from pydantic.dataclasses import dataclass

from transformer.corpora.parts import Pair, write_part
from transformer.corpora.usable import undecodable
from transformer.support.characters import normalised
from transformer.support.fields import STRICT, Config, Faults, Positive, Seed, check
from transformer.support.files import InputError, stream_lines

SHARED = "sentence of dev or test"


@dataclass(frozen=True, config=STRICT)
class HoldOut(Config):
    """How many pairs of train become dev and test."""

    dev: Positive | None = Field(default=None, description="number of pairs of train that become dev; null: none")
    test: Positive | None = Field(default=None, description="number of pairs of train that become test; null: none")
    seed: Seed = Field(default=1, description="seed of the drawing")

    @check
    def _some(self) -> Faults:
        if not self.parts:
            yield ["dev", "test"], "hold out pairs for dev, for test, or for both, as in {dev: 1000, test: 2000}"

    @property
    def parts(self) -> dict[str, int]:
        """The parts that are held out, each with its number of pairs."""
        return {part: pairs for part, pairs in (("dev", self.dev), ("test", self.test)) if pairs}


def hold_out(folder: Path, wanted: HoldOut, removed: dict[str, int], name: str) -> dict[str, int]:
    """Move pairs of the part train in `folder` to dev and test, and count in `removed` what train loses.

    A pair of train that has a source or a target of theirs is removed, too. Two sides are equal if `normalised` makes
    the same text of them. Returns the number of pairs of each part. Raises InputError when train has too few pairs.
    """
    drawn = _drawn(_pairs(folder, "train"), sum(wanted.parts.values()), wanted.seed)
    sides = [set(map(normalised, side)) for side in zip(*drawn, strict=True)]
    if len(drawn) < sum(wanted.parts.values()):
        counts = " and ".join(f"{count} of {part}" for part, count in wanted.parts.items())
        raise InputError(
            f"corpora.{name}.hold_out: train has only {len(drawn)} pairs with sides that no other has, too few for "
            f"{counts}; hold out fewer"
        )
    sizes: dict[str, int] = {}
    for part, pairs in wanted.parts.items():
        first = sum(sizes.values())
        sizes[part] = write_part(folder, part, drawn[first : first + pairs], removed, name)
        removed[f"held out for {part}"] = pairs
    removed[SHARED] = -len(drawn)  # `kept` counts the pairs that were drawn, too

    def kept() -> Iterator[Pair]:
        for pair in _pairs(folder, "train"):
            if any(normalised(text) in side for text, side in zip(pair, sides, strict=True)):
                removed[SHARED] += 1
            else:
                yield pair

    return {"train": write_part(folder, "train", kept(), removed, name), **sizes}


def shared(folder: Path, one: str, parts: Iterable[str]) -> dict[str, int]:
    """How many pairs of each of these parts in `folder` are in the part `one`, too.

    Two sides are equal if `normalised` makes the same text of them. The pairs of these parts are held in memory. Raises
    the InputErrors of `stream_lines`.
    """
    pairs = {part: [tuple(map(normalised, pair)) for pair in _pairs(folder, part)] for part in parts}
    sources = {source for each in pairs.values() for source, _ in each}
    found: set[tuple[str, ...]] = set()
    for source, target in _pairs(folder, one) if pairs else ():
        if (read := normalised(source)) in sources:
            found.add((read, normalised(target)))
    return {part: sum(pair in found for pair in each) for part, each in pairs.items()}


def _pairs(folder: Path, part: str) -> Iterator[Pair]:
    return zip(*(stream_lines(folder / f"{part}.{side}") for side in ("source", "target")), strict=True)


def _drawn(pairs: Iterable[Pair], count: int, seed: int) -> list[Pair]:
    """Draw `count` pairs by `seed`, or all if there are fewer. No two of them share a source or a target.

    Each different source is equally likely, however often it comes. Only the drawn pairs are held in memory.
    """
    heap: list[tuple[int, Pair, Pair]] = []  # (negated lot, normalised pair, pair): the highest lot comes first
    sources: set[str] = set()
    targets: set[str] = set()
    key = str(seed).encode()
    for pair in pairs:
        source, target = map(normalised, pair)
        lot = -int.from_bytes(hashlib.blake2b(source.encode(), digest_size=8, key=key).digest())
        if len(heap) == count and lot <= heap[0][0]:
            continue
        if source in sources or target in targets or undecodable(*pair):
            continue
        heapq.heappush(heap, (lot, (source, target), pair))
        sources.add(source)
        targets.add(target)
        if len(heap) > count:
            _, (source, target), _ = heapq.heappop(heap)
            sources.remove(source)
            targets.remove(target)
    return [pair for *_, pair in sorted(heap, reverse=True)]

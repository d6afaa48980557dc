"""The sizes at which the layers of Table 1 are measured, with the table's names."""

import math
from itertools import pairwise
from typing import Annotated

from pydantic import AfterValidator, Field
from pydantic.dataclasses import dataclass

from transformer.model.config import Size
from transformer.support.fields import STRICT, Config, Faults, Positive, check

FEWEST = 3  # sizes that an exponent needs at least
MOST_ADDITIVE = 2**25  # limit of n^2 d, the numbers that additive attention keeps: 134 MB


def _in_order(sizes: tuple[int, ...]) -> tuple[int, ...]:
    if len(sizes) < FEWEST:
        raise ValueError(f"{list(sizes)} are too few for an exponent; give at least {FEWEST}")
    if sizes[0] < 1 or any(after <= size for size, after in pairwise(sizes)):
        raise ValueError(f"{list(sizes)} must ascend from 1 or more; sort them, and name each once")
    return sizes


Ascending = Annotated[tuple[int, ...], AfterValidator(_in_order)]


@dataclass(frozen=True, config=STRICT)
class LayerSizes(Config):
    """Lengths n and widths d, ascending. Measurements vary one of them while the other has its middle value."""

    n: Ascending = Field(description="lengths, measured at the middle width")
    d: Ascending = Field(description="widths, measured at the middle length")
    k: int = Field(description="width of a convolution")
    r: Size = Field(description="how far restricted self-attention reads to either side; the paper's r counts both")
    d_k: Positive = Field(description="width of a head")

    @check
    def _additive(self) -> Faults:
        for name in ("n", "d"):
            if len(self.points(name, MOST_ADDITIVE)) < FEWEST:
                few = f"too few of {list(getattr(self, name))} suit additive attention"
                yield name, f"{few} (n^2 d at most {MOST_ADDITIVE:,}); give smaller ones"

    @check
    def _convolution(self) -> Faults:
        if self.k % 2 == 0 or not 3 <= self.k <= max(self.n):
            yield "k", f"{self.k} is not an odd number from 3 to the greatest length n, {max(self.n)}; choose one"

    @check
    def _heads(self) -> Faults:
        if others := [width for width in self.d if width % self.d_k]:
            yield "d", f"{others} are not multiples of d_k, {self.d_k}; choose multiples"

    def points(self, varied: str, most: float = math.inf) -> list[tuple[int, int]]:
        """The (n, d) of the series that varies `varied`, without those whose n^2 d is above `most`."""
        n, d = self.n[len(self.n) // 2], self.d[len(self.d) // 2]
        series = [(each, d) for each in self.n] if varied == "n" else [(n, each) for each in self.d]
        return [(n, d) for n, d in series if n * n * d <= most]

"""The sizes at which the layers of Table 1 are measured, with the table's names."""

import math
from dataclasses import dataclass
from itertools import pairwise

from transformer.model.config import LARGEST
from transformer.support.strict import not_positive

FEWEST = 3  # sizes that an exponent needs at least
MOST_ADDITIVE = 2**25  # limit of n^2 d, the numbers that additive attention keeps: 134 MB


@dataclass(frozen=True)
class LayerSizes:
    """Lengths n and widths d, ascending. Measurements vary one of them while the other has its middle value."""

    n: tuple[int, ...]
    d: tuple[int, ...]
    k: int  # width of a convolution
    r: int  # how many positions restricted self-attention reads on either side; the paper's r counts both sides
    d_k: int  # width of a head

    def faults(self) -> list[str]:
        """A message for each impossible value."""
        found = not_positive(self, "r", "d_k")
        for name in ("n", "d"):
            sizes = getattr(self, name)
            if len(sizes) < FEWEST:
                found.append(f"{name}: {list(sizes)} are too few for an exponent; give at least {FEWEST}")
            elif sizes[0] < 1 or any(after <= size for size, after in pairwise(sizes)):
                found.append(f"{name}: {list(sizes)} must ascend from 1 or more; sort them, and name each once")
            elif self.n and self.d and len(self.points(name, MOST_ADDITIVE)) < FEWEST:
                found.append(
                    f"{name}: too few of {list(sizes)} suit additive attention (n^2 d at most {MOST_ADDITIVE:,}); "
                    "give smaller ones"
                )
        if self.k < 2:
            found.append(f"k: {self.k} reads no other position; choose an odd number of 3 or more")
        elif self.k % 2 == 0:
            found.append(f"k: {self.k} is even; choose an odd number, so that the output is as long as the input")
        elif self.n and self.k > max(self.n):
            found.append(f"k: {self.k} is wider than the greatest length n, {max(self.n)}; choose a smaller one")
        if self.r > LARGEST:
            found.append(f"r: {self.r} is more than any memory holds; give at most {LARGEST}")
        others = [width for width in self.d if self.d_k > 0 and width % self.d_k]
        if others and others == list(self.d):
            found.append(f"d_k: {self.d_k} divides none of the widths d, {others}; choose a divisor of them")
        elif others:
            found.append(f"d: {others} are not multiples of d_k, {self.d_k}; choose multiples")
        return found

    def points(self, varied: str, most: float = math.inf) -> list[tuple[int, int]]:
        """The (n, d) of the series that varies `varied`, without those whose n^2 d is above `most`."""
        n, d = self.n[len(self.n) // 2], self.d[len(self.d) // 2]
        series = [(each, d) for each in self.n] if varied == "n" else [(n, each) for each in self.d]
        return [(n, d) for n, d in series if n * n * d <= most]

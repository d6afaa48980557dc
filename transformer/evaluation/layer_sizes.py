"""The sizes at which the layers of Table 1 are measured; named as there."""

import math
from dataclasses import dataclass
from itertools import pairwise

from transformer.model.config import LARGEST
from transformer.support.strict import not_positive

FEWEST = 3  # sizes, of which the larger half gives an exponent
MOST_ADDITIVE = 2**25  # n^2 d, the numbers that additive attention keeps: 134 MB


@dataclass(frozen=True)
class LayerSizes:
    """Lengths n and widths d, each ascending; one is varied while the other has its middle value."""

    n: tuple[int, ...]
    d: tuple[int, ...]
    k: int  # width of a convolution
    r: int  # neighbourhood of restricted self-attention, on either side
    d_k: int  # of a head

    def faults(self) -> list[str]:
        """What is impossible about these values."""
        found = not_positive(self, "r", "d_k")
        for name in ("n", "d"):
            sizes = getattr(self, name)
            if len(sizes) < FEWEST:
                found.append(f"{name}: {list(sizes)} are too few for an exponent; give at least {FEWEST}")
            elif sizes[0] < 1 or any(after <= size for size, after in pairwise(sizes)):
                found.append(f"{name}: {list(sizes)} do not ascend from 1 or more; sort them, each once")
            elif self.n and self.d and len(self.points(name, MOST_ADDITIVE)) < FEWEST:
                found.append(
                    f"{name}: {list(sizes)} leave too few for additive attention, n^2 d at most {MOST_ADDITIVE:,}; "
                    "give smaller ones"
                )
        if self.k < 2:
            found.append(f"k: {self.k} leads to no other position; choose an odd number from 3 on")
        elif self.k % 2 == 0:
            found.append(f"k: {self.k} is even; choose an odd number, so that the output is as long as the input")
        elif self.n and self.k > max(self.n):
            found.append(f"k: {self.k} is wider than the greatest length n, {max(self.n)}; choose a smaller one")
        if self.r > LARGEST:
            found.append(f"r: {self.r} is more than any memory holds; give at most {LARGEST}")
        others = [width for width in self.d if self.d_k > 0 and width % self.d_k]
        if others and others == list(self.d):
            found.append(f"d_k: {self.d_k} divides no width d of {others}; heads have d_k each, choose a divisor")
        elif others:
            found.append(f"d: {others} are no multiples of d_k, {self.d_k}; heads have d_k each, choose some that are")
        return found

    def points(self, varied: str, most: float = math.inf) -> list[tuple[int, int]]:
        """The (n, d) of one series, whose n^2 d is at most `most`."""
        n, d = self.n[len(self.n) // 2], self.d[len(self.d) // 2]
        series = [(each, d) for each in self.n] if varied == "n" else [(n, each) for each in self.d]
        return [(n, d) for n, d in series if n * n * d <= most]

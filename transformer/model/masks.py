"""Which subwords may read which (sections 3.2.3 and 5.1): rows of sentences, and masks for attention.

Shapes are named as in attention.py; R rows of L subwords. A row holds sentences one after the other, then padding.
"""

from typing import NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor

from transformer.model import kernels
from transformer.model.ids import END, PADDING

MASKED = -1e9  # added to the score of a key that must not be read; the exponential of the sum is 0


class Rows(NamedTuple):
    """Rows of ids, and for each id its segment and its position in the segment, all [R, L].

    A segment is the number of a sentence in its row, from 0. The padding at the end of a row counts as one more
    sentence, so no sentence reads it.
    """

    ids: Tensor
    segment: Tensor
    position: Tensor

    @classmethod
    def of(cls, ids_RL: Tensor) -> "Rows":
        """Find the sentences of rows of at least one id. Each ends with the id END."""
        begins = F.pad(ids_RL[:, :-1] == END, (1, 0))
        place = torch.arange(ids_RL.size(1), device=ids_RL.device).expand_as(ids_RL)
        return cls(ids_RL, begins.cumsum(1), place - torch.where(begins, place, 0).cummax(1).values)

    def on(self, device: torch.device) -> "Rows":
        """The rows on a device. They get more padding if its kernels need rows of certain lengths."""
        if self.ids.device == device:
            return self
        more = kernels.row_padding(self.ids.size(1), device)
        rows = Rows.of(F.pad(self.ids, (0, more), value=PADDING)) if more else self
        return Rows(*(kernels.to_device(each, device) for each in rows))


class Mask:
    """Which keys each query may read, and what the positional encoding adds to their scores.

    `shown` is [R, T, S], or [R, 1, S] if all queries read the same keys; `position_bias` is [R, H, T, S]. `bias`
    [R, 1 or H, T or 1, S] joins them, to be added to the scores; it is MASKED at keys that must not be read. MASKED is
    finite, because padding may have nothing to read, and the softmax of scores that are all -infinity is not a number.
    """

    def __init__(self, shown: Tensor, position_bias: Tensor | None = None):
        self.shown = shown
        bias = torch.where(shown, 0.0, MASKED)[:, None]
        self.bias = kernels.mask_bias(bias if position_bias is None else bias + position_bias)

    @classmethod
    def of(cls, queries: Rows, keys: Rows, causal: bool = False, position_bias: Tensor | None = None) -> "Mask":
        """Each subword reads the sentence of its segment; with `causal`, only itself and the subwords before it."""
        shown = queries.segment[:, :, None] == keys.segment[:, None, :]
        return cls(shown.tril() if causal else shown, position_bias)

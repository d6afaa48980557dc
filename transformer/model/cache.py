"""The cache of keys and values that the decoder's self-attention reads while the hypotheses of a beam grow.

Shapes: B sentences, W hypotheses of each, H heads, K d_k, E d_v.
"""

from collections.abc import Callable
from typing import NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor

ROOM = 16  # when the cache grows, it makes room for at least this many tokens of each hypothesis
FULL = 64  # when the cache has this many places, it drops the unused ones
ROW = 16  # attention reads a multiple of this number of places, because rows of such lengths are the fastest


class KeysValues(NamedTuple):
    """What attention reads: keys [B, H, S, K] and values [B, H, S, E]."""

    keys: Tensor
    values: Tensor

    def select(self, sentences: Tensor) -> "KeysValues":
        """Those of the given sentences."""
        return KeysValues(*(each.index_select(0, sentences) for each in self))


class LayerCache:
    """The cache of one layer: keys [B, H, room, K] and values [B, H, room, E]. The first keys decide H and K."""

    def __init__(self) -> None:
        self.kept: KeysValues | None = None
        self.room = self.places = self.place = 0  # how many there are, how many attention reads, and the first free one

    def add(self, k_BHWK: Tensor, v_BHWE: Tensor) -> KeysValues:
        """Write the keys and values of the hypotheses' new tokens; returns all keys and values."""
        new = KeysValues(k_BHWK, v_BHWE)
        if self.kept is None:
            self.kept = KeysValues(*(each.new_zeros(*each.shape[:2], self.room, each.size(3)) for each in new))
        for cached, each in zip(self.kept, new, strict=True):
            cached.narrow(2, self.place, each.size(2)).copy_(each)
        return KeysValues(*(each[:, :, : self.places] for each in self.kept))

    def change(self, change: Callable[[Tensor], Tensor]) -> None:
        """Change keys and values alike."""
        if self.kept is not None:
            self.kept = KeysValues(*map(change, self.kept))


class Cache:
    """Keys, values and positions of all tokens of a sentence's hypotheses. Each token is written once, at its place.

    Hypotheses that begin alike share places, so nothing is copied when the beam chooses among them.
    """

    def __init__(self, layers: int, sentences: int, device: torch.device):
        self.layers = [LayerCache() for _ in range(layers)]
        self.room = 0
        self.used, self.full, self.length = 0, FULL, 0
        self.readable = torch.zeros((sentences, 1, 0), dtype=torch.bool, device=device)  # [B, W, places]
        self.position = torch.zeros((sentences, 0), dtype=torch.long, device=device)  # [B, places]

    def grow(self, width: int) -> list[LayerCache]:
        """Take a place for the next token of each of `width` hypotheses; returns the cache of each layer.

        `readable` then lets each hypothesis read its own tokens, the next one included.
        """
        place, self.used = self.used, self.used + width
        places, more = -(-self.used // ROW) * ROW, 0
        if places > self.room:
            more = max(self.room, ROOM * width // ROW * ROW)
            self.room += more
        if places > self.readable.size(2):
            self.readable, self.position = (
                F.pad(each, (0, places - each.size(-1))) for each in (self.readable, self.position)
            )
        self.position[:, place : self.used] = self.length
        self.readable[:, :, place : self.used].diagonal(dim1=1, dim2=2).fill_(True)
        self.length += 1
        for layer in self.layers:
            if more:
                layer.change(lambda each: F.pad(each, (0, 0, 0, more)))
            layer.room, layer.places, layer.place = self.room, places, place
        return self.layers

    def follow(self, origin_BW: Tensor) -> None:
        """Continue with hypotheses that extend those given. From time to time, drop places that none of them reads."""
        self.readable = self.readable.gather(1, origin_BW[:, :, None].expand(-1, -1, self.readable.size(2)))
        if self.used >= self.full:
            self.tidy()

    def tidy(self) -> None:
        """Drop places that no hypothesis reads. All sentences keep the same number of places."""
        needed = self.readable.any(1)
        self.used = int(needed.sum(1).amax())
        self.full = max(FULL, 2 * self.used)
        kept = needed.byte().argsort(dim=1, descending=True, stable=True)[:, : self.used]
        for layer in self.layers:
            layer.change(lambda each: each.gather(2, kept[:, None, :, None].expand_as(each[:, :, : self.used])))
        self.room = self.used
        self.readable = self.readable.gather(2, kept[:, None].expand(-1, self.readable.size(1), -1))
        self.position = self.position.gather(1, kept)

    def select(self, sentences: Tensor) -> None:
        """Keep only the given sentences, numbered from 0."""
        for layer in self.layers:
            layer.change(lambda each: each.index_select(0, sentences))
        self.readable, self.position = self.readable[sentences], self.position[sentences]

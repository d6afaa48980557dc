"""The cache of keys and values that the decoder's self-attention reads while the hypotheses of a beam grow.

Shapes: B sentences, W hypotheses of each, H heads, K d_k, E d_v.
"""

from typing import NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor

from transformer.model import kernels
from transformer.model.config import ModelConfig

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


class LayerCache(NamedTuple):
    """The cache of one layer: keys [B, H, places, K] and values [B, H, places, E], and the first free place."""

    keys: Tensor
    values: Tensor
    place: int

    def add(self, k_BHWK: Tensor, v_BHWE: Tensor) -> KeysValues:
        """Write the keys and values of the hypotheses' new tokens; returns all keys and values."""
        for cached, new in zip(self[:2], (k_BHWK, v_BHWE), strict=True):
            cached.narrow(2, self.place, new.size(2)).copy_(new)
        return KeysValues(*self[:2])


class Cache:
    """Keys, values and positions of all tokens of a sentence's hypotheses. Each token is written once, at its place.

    Hypotheses that begin alike share places, so nothing is copied when the beam chooses among them.
    """

    def __init__(self, config: ModelConfig, sentences: int, device: torch.device):
        sizes, dtype = (config.d_k, config.d_v), kernels.product_dtype(device, torch.float32)
        self.tensors = [
            KeysValues(*(torch.empty(sentences, config.h, 0, size, dtype=dtype, device=device) for size in sizes))
            for _ in range(config.N)
        ]
        self.used, self.full, self.length = 0, FULL, 0
        self.readable = torch.zeros((sentences, 1, 0), dtype=torch.bool, device=device)  # [B, W, places]
        self.position = torch.zeros((sentences, 0), dtype=torch.long, device=device)  # [B, places]

    def grow(self, width: int) -> list[LayerCache]:
        """Take a place for the next token of each of `width` hypotheses; returns the cache of each layer.

        `readable` then lets each hypothesis read its own tokens, the next one included.
        """
        place, self.used = self.used, self.used + width
        places, room = -(-self.used // ROW) * ROW, self.tensors[0].keys.size(2)
        if places > room:
            more = max(room, ROOM * width // ROW * ROW)
            self.tensors = [KeysValues(*(F.pad(each, (0, 0, 0, more)) for each in layer)) for layer in self.tensors]
        if places > self.readable.size(2):
            self.readable, self.position = (
                F.pad(each, (0, places - each.size(-1))) for each in (self.readable, self.position)
            )
        self.position[:, place : self.used] = self.length
        self.readable[:, :, place : self.used].diagonal(dim1=1, dim2=2).fill_(True)
        self.length += 1
        return [LayerCache(keys[:, :, :places], values[:, :, :places], place) for keys, values in self.tensors]

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
        self.tensors = [
            KeysValues(*(each.gather(2, kept[:, None, :, None].expand_as(each[:, :, : self.used])) for each in layer))
            for layer in self.tensors
        ]
        self.readable = self.readable.gather(2, kept[:, None].expand(-1, self.readable.size(1), -1))
        self.position = self.position.gather(1, kept)

    def select(self, sentences: Tensor) -> None:
        """Keep only the given sentences, numbered from 0."""
        self.tensors = [layer.select(sentences) for layer in self.tensors]
        self.readable, self.position = self.readable[sentences], self.position[sentences]

"""The cache of keys and values that the decoder's self-attention reads while the hypotheses of a beam grow.

Shapes: B sentences, W hypotheses of each, H heads, K d_k, V d_v.
"""

import torch
import torch.nn.functional as F
from torch import Tensor

from transformer.model.attention import HIDDEN, KeysValues
from transformer.model.config import ModelConfig

ROOM = 16  # when the cache grows, it makes room for at least this many tokens of each hypothesis
FULL = 64  # when the cache has this many places, it drops the unused ones
ROW = 16  # attention reads a multiple of this number of places, because rows of such lengths are the fastest


class Cache:
    """Keys, values and positions of all tokens of a sentence's hypotheses. Each token is written once, at its place.

    Hypotheses that begin alike share places, so nothing is copied when the beam chooses among them.
    """

    def __init__(self, config: ModelConfig, sentences: int, device: torch.device):
        self.layers = [
            KeysValues(*(torch.empty(sentences, config.h, 0, size, device=device) for size in (config.d_k, config.d_v)))
            for _ in range(config.N)
        ]
        self.radius = config.attention_radius
        self.used, self.full, self.length = 0, FULL, 0
        self.own = torch.full((sentences, 1, 0), HIDDEN, device=device)  # [B, W, places]; 0 at places that are read
        self.position = torch.zeros((sentences, 0), dtype=torch.long, device=device)  # [B, places]

    def grow(self, width: int) -> tuple[list[KeysValues], int, Tensor, Tensor]:
        """Take a place for the next token of each of `width` hypotheses.

        Returns each layer's keys [B, H, places, K] and values [B, H, places, V], the first new place, the attention
        bias [B, 1, W, places] and the positions [B, places]. The bias lets a hypothesis read only its own tokens, and
        of these only those within the attention radius.
        """
        place, self.used = self.used, self.used + width
        read, room = -(-self.used // ROW) * ROW, self.layers[0].keys.size(2)
        if read > room:
            more = max(room, ROOM * width // ROW * ROW)
            self.layers = [KeysValues(*(F.pad(tensor, (0, 0, 0, more)) for tensor in layer)) for layer in self.layers]
        if read > self.own.size(2):
            self.own = F.pad(self.own, (0, read - self.own.size(2)), value=HIDDEN)
            self.position = F.pad(self.position, (0, read - self.position.size(1)))
        self.position[:, place : self.used] = self.length
        self.own[:, :, place : self.used].diagonal(dim1=1, dim2=2).zero_()
        if self.radius is not None:
            self.own = self.own.masked_fill((self.position < self.length - self.radius)[:, None], HIDDEN)
        self.length += 1
        layers = [KeysValues(*(tensor[:, :, :read] for tensor in layer)) for layer in self.layers]
        return layers, place, self.own[:, None], self.position

    def follow(self, origin_BW: Tensor) -> None:
        """Continue with hypotheses that extend those given. From time to time, drop places that none of them reads."""
        self.own = self.own.gather(1, origin_BW[:, :, None].expand(-1, -1, self.own.size(2)))
        if self.used >= self.full:
            self.tidy()

    def tidy(self) -> None:
        """Drop places that no hypothesis reads. All sentences keep the same number of places."""
        read = (self.own == 0).any(1)
        self.used = int(read.sum(1).amax())
        self.full = max(FULL, 2 * self.used)
        kept = read.byte().argsort(dim=1, descending=True, stable=True)[:, : self.used]
        self.layers = [
            KeysValues(
                *(tensor.gather(2, kept[:, None, :, None].expand_as(tensor[:, :, : self.used])) for tensor in layer)
            )
            for layer in self.layers
        ]
        self.own = self.own.gather(2, kept[:, None].expand(-1, self.own.size(1), -1))
        self.position = self.position.gather(1, kept)

    def select(self, sentences: Tensor) -> None:
        """Keep only the given sentences, numbered from 0."""
        self.layers = [KeysValues(*(tensor.index_select(0, sentences) for tensor in layer)) for layer in self.layers]
        self.own, self.position = self.own[sentences], self.position[sentences]

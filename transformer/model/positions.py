"""Positional encodings (section 3.5): sinusoids, or learned positions (Table 3, row E)."""

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from transformer.model.config import BOUNDED, ModelConfig
from transformer.support.strict import unknown


def sinusoids(length: int, d_model: int) -> Tensor:
    """The table [length, d_model] of PE(pos, 2i) = sin(pos / 10000^(2i/d_model)) and PE(pos, 2i+1) = cos(the same).

    This is the paper's formula; the authors' code puts all sines before all cosines and divides by d_model/2 - 1.
    """
    position = torch.arange(length, dtype=torch.float64)[:, None]
    frequency = 10000.0 ** (-torch.arange(0, d_model, 2, dtype=torch.float64) / d_model)
    table = torch.zeros(length, d_model, dtype=torch.float64)
    table[:, 0::2] = torch.sin(position * frequency)
    table[:, 1::2] = torch.cos(position * frequency)
    return table.float()


class SinusoidalPositions(nn.Module):
    """Sinusoids for positions `start` to `start + length`, computed once and longer when a longer sentence comes."""

    def __init__(self, d_model: int, length: int):
        super().__init__()
        self.register_buffer("table", sinusoids(length, d_model), persistent=False)
        self.table: Tensor

    def forward(self, length: int, start: int = 0) -> Tensor:
        """Encodings [length, d_model]."""
        end = start + length
        if end > len(self.table):
            self.table = sinusoids(max(end, 2 * len(self.table)), self.table.size(1)).to(self.table)
        return self.table[start:end]

    def at(self, position_RL: Tensor) -> Tensor:
        """Encodings [R, L, D] of positions below L."""
        return F.embedding(position_RL, self(position_RL.size(-1)))


class LearnedPositions(nn.Module):
    """One vector a position, learnt (row E); initialised and scaled as the word embeddings are."""

    def __init__(self, d_model: int, length: int):
        super().__init__()
        self.table = nn.Parameter(torch.empty(length, d_model))
        nn.init.normal_(self.table, std=d_model**-0.5)

    def forward(self, length: int, start: int = 0) -> Tensor:
        """Encodings [length, d_model]. Raises ValueError beyond the last position learnt."""
        end = start + length
        if end > len(self.table):
            raise ValueError(f"position {end} is beyond the {len(self.table)} learnt positions")
        return self.table[start:end] * self.table.size(1) ** 0.5

    def at(self, position_RL: Tensor) -> Tensor:
        """Encodings [R, L, D] of positions; padding beyond the last position learnt gets that one's."""
        return F.embedding(position_RL.clamp(max=len(self.table) - 1), self.table) * self.table.size(1) ** 0.5


ENCODINGS: dict[str, type[SinusoidalPositions] | type[LearnedPositions]] = {  # by their names in ModelConfig
    "sinusoidal": SinusoidalPositions,
    "learned": LearnedPositions,
}


def positions(config: ModelConfig) -> SinusoidalPositions | LearnedPositions:
    """The positional encoding that a model's config names. Raises ValueError for one that there is not."""
    if config.positions not in ENCODINGS:
        raise ValueError("positions: " + unknown(config.positions, ENCODINGS, "encoding"))
    return ENCODINGS[config.positions](config.d_model, config.max_length)


def last_position(config: ModelConfig) -> int | None:
    """How many positions a model has; None where there is no last one."""
    return config.max_length if config.positions in BOUNDED else None

"""What a network is: Table 3's columns."""

from dataclasses import dataclass
from typing import Literal

from transformer.support.strict import added, not_positive

LARGEST = 10**7  # of any size
BOUNDED = ("learned",)  # the positional encodings that have a last position, max_length
BUCKETS = 32  # of distances, each with a learned bias a head, in the encoding `t5`


@dataclass(frozen=True)
class AttentionOverParametersConfig:
    """Sizes of the appendix's sub-layer: h_p heads over n_p keys of d_pk and values of d_pv."""

    h_p: int
    d_pk: int
    d_pv: int
    n_p: int


@dataclass(frozen=True)
class ModelConfig:
    """A column group of Table 3: what the network is. Names as in the paper."""

    N: int
    d_model: int
    d_ff: int
    h: int
    d_k: int
    d_v: int
    P_drop: float
    positions: Literal["none", "sinusoidal", "learned", "t5", "alibi", "rotary"]
    max_length: int  # of a sentence in subwords, where positions are learned
    attention_over_parameters: AttentionOverParametersConfig | None = None
    attention: Literal["scaled", "unscaled", "additive"] = added(
        "scaled"
    )  # scores: Q K^T / sqrt(d_k), Q K^T, or v^T tanh(Q + K)
    attention_radius: int | None = added(None)  # positions that self-attention reads on either side; None: all

    def faults(self) -> list[str]:
        """What is impossible about these values."""
        found = not_positive(self, "N", "d_model", "d_ff", "h", "d_k", "d_v", "max_length")
        if self.attention_over_parameters is not None:
            found += not_positive(self.attention_over_parameters, "h_p", "d_pk", "d_pv", "n_p")
        if self.attention_radius is not None:
            found += not_positive(self, "attention_radius")
        for name in ("N", "d_model", "d_ff", "h", "d_k", "d_v", "max_length"):
            if (size := getattr(self, name)) > LARGEST:
                found.append(f"{name}: {size} is more than any memory holds; give at most {LARGEST}")
        if self.d_model % 2:
            found.append(f"d_model: {self.d_model} is odd; sines and cosines come in pairs, choose an even number")
        if self.positions == "rotary" and self.d_k % 2:
            found.append(f"d_k: {self.d_k} is odd; rotary positions turn pairs, choose an even number")
        if not 0 <= self.P_drop < 1:
            found.append(f"P_drop: {self.P_drop} is not in [0, 1)")
        return found

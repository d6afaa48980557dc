"""The config of a network: the columns of Table 3."""

from dataclasses import dataclass, fields
from typing import Any, Literal

from transformer.support.strict import added, not_positive

Positions = Literal["none", "sinusoidal", "learned", "t5", "alibi", "rotary"]
LARGEST = 10**7  # the limit of every size
BOUNDED = ("learned",)  # the positional encodings that have no positions beyond max_length
BUCKETS = 32  # how many classes of distances the encoding `t5` has; it learns a bias for each class and head
RECURRENT = ("network", "N", "d_model", "P_drop")  # the fields that a recurrent network uses
# The fields that must have their defaults in a recurrent network.
TRANSFORMER = ("attention_over_parameters", "attention", "attention_dropout")


def not_a_size(config: Any, *names: str) -> list[str]:
    """A fault for each of the named fields that is not positive or that no memory holds."""
    found = not_positive(config, *names)
    for name in names:
        if (size := getattr(config, name)) > LARGEST:
            found.append(f"{name}: {size} is more than any memory holds; give at most {LARGEST}")
    return found


@dataclass(frozen=True)
class AttentionOverParametersConfig:
    """Sizes of the appendix's sub-layer: h_p heads, each with n_p keys of width d_pk and n_p values of width d_pv."""

    h_p: int
    d_pk: int
    d_pv: int
    n_p: int


@dataclass(frozen=True)
class ModelConfig:
    """The columns of Table 3 that describe the network, with the paper's names."""

    N: int
    d_model: int
    d_ff: int
    h: int
    d_k: int
    d_v: int
    P_drop: float
    positions: Positions
    max_length: int  # the number of learned positions, in subwords
    attention_over_parameters: AttentionOverParametersConfig | None = None
    # The scores: scaled is Q K^T / sqrt(d_k), unscaled is Q K^T, additive is v^T tanh(Q + K).
    attention: Literal["scaled", "unscaled", "additive"] = added("scaled")
    attention_dropout: float = added(0.0)  # of attention's weights; only the parser has it (section 6.3)
    network: Literal["transformer", "recurrent"] = added("transformer")

    def faults(self) -> list[str]:
        """A message for each impossible value."""
        found = not_a_size(self, "N", "d_model", "d_ff", "h", "d_k", "d_v", "max_length")
        if self.attention_over_parameters is not None:
            sizes = not_a_size(self.attention_over_parameters, "h_p", "d_pk", "d_pv", "n_p")
            found += [f"attention_over_parameters.{fault}" for fault in sizes]
        if self.d_model % 2:
            found.append(f"d_model: {self.d_model} is odd; sines and cosines come in pairs, so choose an even number")
        if self.positions == "rotary" and self.d_k % 2:
            found.append(f"d_k: {self.d_k} is odd; rotary positions need pairs, so choose an even number")
        for name in ("P_drop", "attention_dropout"):
            if not 0 <= (p := getattr(self, name)) < 1:
                found.append(f"{name}: {p} is not in [0, 1)")
        if self.network == "recurrent":
            found += self._not_recurrent()
        return found

    def _not_recurrent(self) -> list[str]:
        """A message for each value that is impossible in a recurrent network."""
        found = []
        if self.N == 1:
            found.append("N: 1 is too few layers; a recurrent network needs 2 or more")
        if self.positions != "sinusoidal":
            found.append(
                f"positions: a recurrent network does not use {self.positions} positions; leave this key at sinusoidal"
            )
        for field in fields(self):
            if field.name in TRANSFORMER and getattr(self, field.name) != field.default:
                found.append(f"{field.name}: a recurrent network does not use it; remove this key")
        return found

"""The config of a network: the columns of Table 3."""

from typing import Annotated, Literal, get_args

from pydantic import Field
from pydantic.dataclasses import dataclass

from transformer.model.idea import check_code
from transformer.support.fields import STRICT, Config, Faults, Probability, check
from transformer.support.files import InputError
from transformer.support.strict import added

Positions = Literal["none", "sinusoidal", "learned", "t5", "alibi", "rotary"]
Attention = Literal["scaled", "unscaled", "additive"]
ENCODINGS: tuple[Positions, ...] = get_args(Positions)
LARGEST = 10**7  # the limit of every size: more is more than any memory holds
Size = Annotated[int, Field(ge=1, le=LARGEST)]
BOUNDED = ("learned",)  # the positional encodings that have no positions beyond max_length
BUCKETS = 32  # how many classes of distances the encoding `t5` has; it learns a bias for each class and head
OTHERS = ("recurrent", "convolutional")  # the networks that the paper replaces
USED = {  # the fields that each of these uses
    "recurrent": ("network", "N", "d_model", "P_drop"),
    "convolutional": ("network", "N", "d_model", "P_drop", "max_length"),
}
POSITIONS: dict[str, Positions] = {"recurrent": "sinusoidal", "convolutional": "learned"}  # which each must have
# The fields that only a Transformer uses, with their defaults, which they must have in other networks.
TRANSFORMER = {
    "attention_over_parameters": None,
    "attention": "scaled",
    "attention_dropout": 0.0,
    "idea": None,
}


def odd(name: str, width: int, needs: str) -> Faults:
    """The fault that a width is odd, if it is."""
    if width % 2:
        yield name, f"{width} is odd; {needs}, so choose an even number"


@dataclass(frozen=True, config=STRICT)
class AttentionOverParametersConfig(Config):
    """Sizes of the appendix's sub-layer: h_p heads, each with n_p keys of width d_pk and n_p values of width d_pv."""

    h_p: Size = Field(description="heads")
    d_pk: Size = Field(description="width of a key")
    d_pv: Size = Field(description="width of a value")
    n_p: Size = Field(description="keys, and as many values, of each head")


@dataclass(frozen=True, config=STRICT)
class ModelConfig(Config):
    """The columns of Table 3 that describe the network, with the paper's names."""

    N: Size = Field(description="layers of the encoder, and of the decoder")
    d_model: Size = Field(description="width of the embeddings and of every layer's output; even")
    d_ff: Size = Field(description="width of the feed-forward layers' inner layer")
    h: Size = Field(description="attention heads")
    d_k: Size = Field(description="width of one head's queries and keys")
    d_v: Size = Field(description="width of one head's values")
    P_drop: Probability = Field(description="dropout of each sub-layer's output and of the embeddings (section 5.4)")
    positions: Positions = Field(description="how the model knows the order of subwords")
    max_length: Size = Field(description="number of learned positions, in subwords")
    attention_over_parameters: AttentionOverParametersConfig | None = Field(
        default=None, description="sizes of the appendix's sub-layer, which takes the place of the feed-forward layers"
    )
    attention: Attention = added("scaled", "scores: Q K^T / sqrt(d_k), Q K^T, or v^T tanh(Q + K)")
    attention_dropout: Probability = added(
        0.0, "dropout of attention's weights; in the paper only the parser has it (section 6.3)"
    )
    network: Literal["transformer", "recurrent", "convolutional"] = added(
        "transformer", "the paper's network, or the LSTMs or convolutions that it replaces"
    )
    idea: str | None = added(None, "a file that changes the network, such as ideas/swiglu.py (docs/own-idea.md)")

    @check
    def _code(self) -> Faults:
        if self.idea is not None:
            try:
                check_code(self.idea)
            except InputError as error:
                yield "idea", str(error)

    @check
    def _even_width(self) -> Faults:
        yield from odd("d_model", self.d_model, "sines and cosines come in pairs")

    @check
    def _pairs(self) -> Faults:
        if self.positions == "rotary":
            yield from odd("d_k", self.d_k, "rotary positions need pairs")

    @check
    def _other_network(self) -> Faults:
        if self.network not in OTHERS:
            return
        if self.network == "recurrent" and self.N == 1:
            yield "N", "1 is too few layers; a recurrent network needs 2 or more"
        a_network, needed = f"a {self.network} network", POSITIONS[self.network]
        if self.positions != needed:
            yield "positions", f"{a_network} does not use {self.positions} positions; leave this key at {needed}"
        for name, default in TRANSFORMER.items():
            if getattr(self, name) != default:
                yield name, f"{a_network} does not use it; remove this key"


def last_position(config: ModelConfig) -> int | None:
    """The last position of a model, counted from 1; None if there is no limit."""
    return config.max_length if config.positions in BOUNDED else None

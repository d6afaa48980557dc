"""The kind of recurrent network that the Transformer was compared with: LSTMs with attention (GNMT, Wu et al. 2016).

The form follows the GNMT that MLPerf trained with PyTorch. Encoder and decoder have N layers of width d_model each. The
output of the decoder's first layer queries the encoder's output by additive attention (Bahdanau et al. 2015). The
result of this attention is an input of all further layers at the same position. In GNMT it is also an input of the
first layer at the next position. We leave this out, so that a whole sentence can be trained at once. Dropout acts on
the input of each LSTM. From the third layer on, a layer adds the output of the layer below to its own output.

MLPerf's differs from ours in four points. The first layer of its encoder reads in both directions at the full width,
ours at half the width each. Its attention is normalised. Its softmax has a matrix of its own. Its initial weights are
uniform. Our embeddings, softmax and initial weights are the Transformer's.

Shapes: R rows, which hold one sentence or several; B padded rows of one sentence each; S source and T target subwords;
W hypotheses of a sentence; D d_model; N subwords of the vocabulary.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from transformer.model.attention import AdditiveAttention, Sentences, padding_bias, sentences, xavier_linear
from transformer.model.config import ModelConfig
from transformer.model.ids import PADDING
from transformer.model.network import Network

# The number of sentences and their length are rounded up to multiples of these, because oneDNN keeps code and memory
# for each shape that it has seen.
UNITS = (8, 4)


class State(NamedTuple):
    """The state of an LSTM for each hypothesis: output and cell, both [B, W, D]."""

    output: Tensor
    cell: Tensor


class Memory(NamedTuple):
    """What the decoder's attention reads: keys and values [B, S, D], and a bias [B, 1, 1, S] that hides padding."""

    keys: Tensor
    values: Tensor
    bias: Tensor


class SourceAttention(nn.Module):
    """Additive attention over the encoder's output, with one head and without a projection of values."""

    def __init__(self, d_model: int):
        super().__init__()
        self.query, self.key = xavier_linear(d_model, d_model), xavier_linear(d_model, d_model)
        self.attend = AdditiveAttention(1, d_model)

    def weights(self, x_BTD: Tensor, memory: Memory) -> Tensor:
        """[B, 1, T, S], in float32."""
        return self.attend.weights(self.query(x_BTD)[:, None], memory.keys[:, None], memory.bias)

    def forward(self, x_BTD: Tensor, memory: Memory) -> Tensor:
        """The weighted sums of the values, [B, T, D]."""
        return self.attend(self.query(x_BTD)[:, None], *(each[:, None] for each in memory[:2]), memory.bias)[:, 0]


class Apart(NamedTuple):
    """The sentences of rows, separated: their ids [B, L], and for each subword of the rows its index in the flat ids.

    The indices are [R, L]; they are -1 at the padding of rows.
    """

    ids: Tensor
    place: Tensor


def apart(ids_RL: Tensor, stand: Sentences, count_R: Tensor) -> Apart:
    """Separate the first `count` sentences of each row, in order. Empty sentences fill the batch up."""
    first = count_R.cumsum(0) - count_R
    inside = stand.number < count_R[:, None]
    exact = int(count_R.sum()), int(stand.position[inside].amax()) + 1
    b, length = (-(-size // unit) * unit for size, unit in zip(exact, UNITS, strict=True))
    place = (first[:, None] + stand.number) * length + stand.position
    ids = ids_RL.new_full((b * length,), PADDING)
    ids[place[inside]] = ids_RL[inside]
    return Apart(ids.view(b, length), place.where(inside, -1))


class LSTM(nn.LSTM):
    """An LSTM of one layer and one direction, in float32 on a GPU."""

    def __init__(self, inputs: int, outputs: int):
        super().__init__(inputs, outputs, batch_first=True)

    def forward(  # type: ignore[override]
        self, x: Tensor, before: tuple[Tensor, Tensor] | None = None
    ) -> tuple[Tensor, tuple[Tensor, Tensor]]:
        """The outputs [B, T, D], and the last output and cell [1, B, D] each, from those before the first position."""
        if not x.is_cuda:
            return super().forward(x, before)
        with torch.autocast("cuda", enabled=False):  # it runs cuDNN in float16, in which small gradients vanish
            return super().forward(x.float(), before)


class Recurrent(Network):
    """LSTMs with attention, with the embeddings and the softmax of the Transformer."""

    def __init__(self, config: ModelConfig, vocabulary: int):
        super().__init__(config, vocabulary)
        d = config.d_model
        self.forwards, self.backwards = LSTM(d, d // 2), LSTM(d, d // 2)
        self.encoder = nn.ModuleList(LSTM(d, d) for _ in range(config.N - 1))
        self.attention = SourceAttention(d)
        self.decoder = nn.ModuleList(LSTM(d if i == 0 else 2 * d, d) for i in range(config.N))

    def compile(self, *_: Any, **__: Any) -> None:
        """Do nothing: PyTorch does not compile LSTMs, and each batch of separated sentences has another shape."""

    def encode(self, source_BS: Tensor) -> Tensor:
        """The encoder's output [B, S, D]."""
        length = (source_BS != PADDING).sum(1, keepdim=True)
        place = torch.arange(source_BS.size(1), device=source_BS.device)
        mirrored = torch.where(place < length, length - 1 - place, place)[:, :, None]
        x = self.dropout(self.embed(source_BS))
        backwards, _ = self.backwards(x.gather(1, mirrored.expand_as(x)))
        y = torch.cat([self.forwards(x)[0], backwards.gather(1, mirrored.expand_as(backwards))], -1)
        for i, layer in enumerate(self.encoder):
            above, _ = layer(self.dropout(y))
            y = above + y if i else above
        return y

    def memory(self, source_BS: Tensor) -> Memory:
        """What the decoder reads of some sentences."""
        encoded = self.encode(source_BS)
        return Memory(self.attention.key(encoded), encoded, padding_bias(source_BS))

    def decode(self, x_BTD: Tensor, memory: Memory, through: Callable[[int, Tensor], Tensor]) -> Tensor:
        """The decoder's output [B, T, D] for its input. `through(i, x)` is the output of the i-th LSTM for input x."""
        y = through(0, self.dropout(x_BTD))
        read = self.attention(y, memory)
        for i in range(1, len(self.decoder)):
            above = through(i, self.dropout(torch.cat([y, read], -1)))
            y = above + y if i > 1 else above
        return y

    def _whole(self, i: int, x_BTD: Tensor) -> Tensor:
        y, _ = self.decoder[i](x_BTD)
        return y

    def _shifted(self, target_BT: Tensor) -> Tensor:
        """The decoder's input: each target sentence, shifted right by a zero vector."""
        return F.pad(self.embed(target_BT[:, :-1]), (0, 0, 1, 0))

    def forward(self, source_RS: Tensor, target_RT: Tensor) -> Tensor:
        """The decoder's output [R, T, D]. At a target position it depends only on the positions before it.

        The k-th sentence of a target row translates the k-th of the source row. The sentences are separated, so that no
        LSTM carries its state from one sentence to the next. Then the outputs are put back into rows.
        """
        source = sentences(source_RS)
        count = ((source.position == 0) & (source_RS != PADDING)).sum(1)
        source_BS, target = apart(source_RS, source, count).ids, apart(target_RT, sentences(target_RT), count)
        y = self.decode(self._shifted(target.ids), self.memory(source_BS), self._whole)
        return y.flatten(0, 1)[target.place.clamp(min=0)]

    def last_attention_weights(self, source_BS: Tensor, target_BT: Tensor) -> Tensor:
        """Weights [B, 1, T, S] of the only attention."""
        asking = self._whole(0, self._shifted(target_BT))
        return self.attention.weights(asking, self.memory(source_BS))

    def states(self, sentences: int) -> list[State]:
        """The states of the decoder's LSTMs before the first step, for one hypothesis of each sentence."""
        zero = self.embedding.new_zeros(sentences, 1, self.config.d_model)
        return [State(zero, zero) for _ in self.decoder]

    def step(self, ids_BW: Tensor | None, memory: Memory, states: list[State]) -> Tensor:
        """Logits [B, W, N] of the next token, given the token before it (None at the first step, where W is 1).

        `states` is updated in place.
        """

        def through(i: int, x_BWD: Tensor) -> Tensor:
            before = tuple(each.flatten(0, 1)[None] for each in states[i])
            _, after = self.decoder[i](x_BWD.flatten(0, 1)[:, None], before)
            states[i] = State(*(each.view_as(states[i].output) for each in after))
            return states[i].output

        x = torch.zeros_like(states[0].output) if ids_BW is None else self.embed(ids_BW)
        return self.logits(self.decode(x, memory, through))

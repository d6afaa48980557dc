"""The kind of recurrent network that the Transformer was compared with: LSTMs with attention (GNMT, Wu et al. 2016).

The form follows the GNMT that MLPerf trained with PyTorch. Encoder and decoder have N layers of width d_model each. The
output of the decoder's first layer queries the encoder's output by additive attention (Bahdanau et al. 2015). The
result of this attention is an input of all further layers at the same position, and of the first layer at the next
position (input feeding). So in training, too, the first layer goes step by step. The further layers then read whole
sentences at once. Dropout acts on the input of each LSTM. From the third layer on, a layer adds the output of the layer
below to its own output.

MLPerf's differs from ours in five points. It has no input feeding, which GNMT has. The first layer of its encoder reads
in both directions at the full width, ours at half the width each. Its attention is normalised. Its softmax has a matrix
of its own; our embeddings and softmax are the Transformer's. All its initial weights are uniform; of ours only those of
the LSTMs are, as in PyTorch.

Shapes: R rows, which hold one sentence or several; B padded rows of one sentence each; S source and T target subwords;
W hypotheses of a sentence; D d_model; N subwords of the vocabulary.
"""

from collections.abc import Callable
from typing import Any, NamedTuple, cast

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from transformer.model.attention import Sentences, padding_bias, sentences, xavier_linear
from transformer.model.config import ModelConfig
from transformer.model.ids import PADDING
from transformer.model.network import Network
from transformer.support.device import auto_precision

# The number of sentences and their length are rounded up to multiples of these, because oneDNN keeps code and memory
# for each shape that it has seen.
UNITS = (8, 4)


class State(NamedTuple):
    """The state of an LSTM of the decoder for each hypothesis: output and cell, both [B, W, D]."""

    output: Tensor
    cell: Tensor


class Reading(NamedTuple):
    """The state of the decoder's first LSTM for each hypothesis, and what attention read with its output: [B, W, D]."""

    output: Tensor
    cell: Tensor
    read: Tensor


class Memory(NamedTuple):
    """What the decoder's attention reads: keys and values [B, S, D], and a bias [B, 1, S] that hides padding."""

    keys: Tensor
    values: Tensor
    bias: Tensor


class SourceAttention(nn.Module):
    """Additive attention over the encoder's output, with one head and without a projection of values."""

    def __init__(self, d_model: int):
        super().__init__()
        self.query, self.key = xavier_linear(d_model, d_model), xavier_linear(d_model, d_model)
        self.score = nn.Linear(d_model, 1, bias=False)
        nn.init.xavier_uniform_(self.score.weight)

    def weights(self, x_BWD: Tensor, memory: Memory) -> Tensor:
        """softmax(v^T tanh(q + k)), [B, W, S], in float32."""
        scores = self.score(torch.tanh(self.query(x_BWD)[:, :, None] + memory.keys[:, None])).squeeze(-1)
        return (scores.float() + memory.bias).softmax(-1)

    def forward(self, x_BWD: Tensor, memory: Memory) -> Tensor:
        """The weighted sums of the values, [B, W, D]."""
        return self.weights(x_BWD, memory).to(memory.values.dtype) @ memory.values


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
    """An LSTM of one layer and one direction, in float32 on a GPU and on a CPU that does not multiply bfloat16."""

    def __init__(self, inputs: int, outputs: int):
        super().__init__(inputs, outputs, batch_first=True)

    def step(self, x_BWD: Tensor, before: State | Reading) -> State:
        """The state after one more input of each hypothesis."""
        state = before.output.flatten(0, 1)[None], before.cell.flatten(0, 1)[None]
        _, after = self(x_BWD.flatten(0, 1)[:, None], state)
        return State(*(each.view_as(before.output) for each in after))

    def forward(  # type: ignore[override]
        self, x: Tensor, before: tuple[Tensor, Tensor] | None = None
    ) -> tuple[Tensor, tuple[Tensor, Tensor]]:
        """The outputs [B, T, D], and the last output and cell [1, B, D] each, from those before the first position."""
        if not x.is_cuda and auto_precision(x.device) == "bfloat16":
            return super().forward(x, before)
        # Under autocast to bfloat16, cuDNN computes in float16, in which small gradients vanish, and oneDNN refuses
        # LSTMs on a CPU that does not multiply bfloat16.
        with torch.autocast(x.device.type, enabled=False):
            return super().forward(x.type_as(self.all_weights[0][0]), before)


class Recurrent(Network):
    """LSTMs with attention, with the embeddings and the softmax of the Transformer."""

    def __init__(self, config: ModelConfig, vocabulary: int):
        super().__init__(config, vocabulary)
        d = config.d_model
        self.forwards, self.backwards = LSTM(d, d // 2), LSTM(d, d // 2)
        self.encoder = nn.ModuleList(LSTM(d, d) for _ in range(config.N - 1))
        self.attention = SourceAttention(d)
        self.decoder = nn.ModuleList(LSTM(2 * d, d) for _ in range(config.N))

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
        return Memory(self.attention.key(encoded), encoded, padding_bias(source_BS)[:, 0])

    def read(self, x_BWD: Tensor, before: Reading, memory: Memory) -> Reading:
        """One step of the decoder's first layer and of attention, for the next input of each hypothesis."""
        given = self.dropout(torch.cat([x_BWD, before.read], -1))
        state = cast(LSTM, self.decoder[0]).step(given, before)
        return Reading(*state, self.attention(state.output, memory))

    def decode(self, y: Tensor, read: Tensor, through: Callable[[int, Tensor], Tensor]) -> Tensor:
        """The decoder's output, given that of its first layer and what attention read, all [B, T, D].

        `through(i, x)` is the output of the i-th LSTM for input x.
        """
        for i in range(1, len(self.decoder)):
            above = through(i, self.dropout(torch.cat([y, read], -1)))
            y = above + y if i > 1 else above
        return y

    def _readings(self, target_BT: Tensor, memory: Memory) -> tuple[Tensor, Tensor]:
        """Outputs of the first layer and what attention read, [B, T, D]. The input is the target, shifted by zeros."""
        x_BTD, steps = F.pad(self.embed(target_BT[:, :-1]), (0, 0, 1, 0)), [self.start(len(target_BT))]
        for x_BD in x_BTD.unbind(1):
            steps.append(self.read(x_BD[:, None], steps[-1], memory))
        return torch.cat([each.output for each in steps[1:]], 1), torch.cat([each.read for each in steps[1:]], 1)

    def forward(self, source_RS: Tensor, target_RT: Tensor) -> Tensor:
        """The decoder's output [R, T, D]. At a target position it depends only on the positions before it.

        The k-th sentence of a target row translates the k-th of the source row. The sentences are separated, so that no
        LSTM carries its state from one sentence to the next. Then the outputs are put back into rows.
        """
        source = sentences(source_RS)
        count = ((source.position == 0) & (source_RS != PADDING)).sum(1)
        source_BS, target = apart(source_RS, source, count).ids, apart(target_RT, sentences(target_RT), count)
        memory = self.memory(source_BS)
        y, read = self._readings(target.ids, memory)
        y = self.decode(y, read, lambda i, x_BTD: self.decoder[i](x_BTD)[0])
        return y.flatten(0, 1)[target.place.clamp(min=0)]

    def last_attention_weights(self, source_BS: Tensor, target_BT: Tensor) -> Tensor:
        """Weights [B, 1, T, S] of the only attention."""
        memory = self.memory(source_BS)
        asking, _ = self._readings(target_BT, memory)
        return self.attention.weights(asking, memory)[:, None]

    def start(self, sentences: int) -> Reading:
        """The state of the first layer before the first step, for one hypothesis of each sentence."""
        zero = self.embedding.new_zeros(sentences, 1, self.config.d_model)
        return Reading(zero, zero, zero)

    def states(self, sentences: int) -> list[State | Reading]:
        """The states of the decoder's LSTMs before the first step, for one hypothesis of each sentence."""
        first = self.start(sentences)
        return [first, *(State(first.output, first.cell) for _ in self.decoder[1:])]

    def step(self, ids_BW: Tensor | None, memory: Memory, states: list[State | Reading]) -> Tensor:
        """Logits [B, W, N] of the next token, given the token before it (None at the first step, where W is 1).

        `states` is updated in place.
        """

        def through(i: int, x_BWD: Tensor) -> Tensor:
            states[i] = cast(LSTM, self.decoder[i]).step(x_BWD, states[i])
            return states[i].output

        x = torch.zeros_like(states[0].output) if ids_BW is None else self.embed(ids_BW)
        states[0] = first = self.read(x, cast(Reading, states[0]), memory)
        return self.logits(self.decode(first.output, first.read, through))

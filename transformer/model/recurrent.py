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
W hypotheses of a sentence; D d_model; V subwords of the vocabulary.
"""

from collections.abc import Callable
from typing import Any, NamedTuple, cast

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from transformer.model import kernels
from transformer.model.attention import xavier_linear
from transformer.model.config import ModelConfig
from transformer.model.ids import PADDING
from transformer.model.masks import Mask, Rows
from transformer.model.network import Network

# The segment of sentences and their length are rounded up to multiples of these, because oneDNN keeps code and memory
# for each shape that it has seen.
UNITS = (8, 4)


class LSTMState(NamedTuple):
    """The state of an LSTM of the decoder for each hypothesis: output and cell, both [B, W, D]."""

    output: Tensor
    cell: Tensor


class AttentiveState(NamedTuple):
    """The state of the decoder's first LSTM for each hypothesis, and what attention read with it: [B, W, D] each."""

    output: Tensor
    cell: Tensor
    context: Tensor


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


class Sentences(NamedTuple):
    """The sentences of rows, separated: their ids [B, L], and for each id of the rows its index in the flat ids [R, L].

    The index is -1 at the padding of rows.
    """

    ids: Tensor
    place: Tensor


def separate(rows: Rows, count_R: Tensor) -> Sentences:
    """Separate the first `count` sentences of each row, in order. Empty sentences fill the batch up."""
    first = count_R.cumsum(0) - count_R
    inside = rows.segment < count_R[:, None]
    exact = int(count_R.sum()), int(rows.position[inside].amax()) + 1
    b, length = (-(-size // unit) * unit for size, unit in zip(exact, UNITS, strict=True))
    place = (first[:, None] + rows.segment) * length + rows.position
    ids = rows.ids.new_full((b * length,), PADDING)
    ids[place[inside]] = rows.ids[inside]
    return Sentences(ids.view(b, length), place.where(inside, -1))


class StepwiseLSTM(kernels.LSTM):
    """An LSTM of one layer and one direction."""

    def __init__(self, inputs: int, outputs: int):
        super().__init__(inputs, outputs, batch_first=True)

    def step(self, x_BWD: Tensor, before: LSTMState | AttentiveState) -> LSTMState:
        """The state after one more input of each hypothesis."""
        state = before.output.flatten(0, 1)[None], before.cell.flatten(0, 1)[None]
        _, after = self(x_BWD.flatten(0, 1)[:, None], state)
        return LSTMState(*(each.view_as(before.output) for each in after))


class Recurrent(Network):
    """LSTMs with attention, with the embeddings and the softmax of the Transformer."""

    host_syncs = True

    def __init__(self, config: ModelConfig, vocabulary: int):
        super().__init__(config, vocabulary)
        d = config.d_model
        self.forwards, self.backwards = StepwiseLSTM(d, d // 2), StepwiseLSTM(d, d // 2)
        self.encoder = nn.ModuleList(StepwiseLSTM(d, d) for _ in range(config.N - 1))
        self.attention = SourceAttention(d)
        self.decoder = nn.ModuleList(StepwiseLSTM(2 * d, d) for _ in range(config.N))

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
        return Memory(self.attention.key(encoded), encoded, Mask((source_BS != PADDING)[:, None]).bias[:, 0])

    def first_layer_step(self, x_BWD: Tensor, before: AttentiveState, memory: Memory) -> AttentiveState:
        """One step of the decoder's first layer and of attention, for the next input of each hypothesis."""
        given = self.dropout(torch.cat([x_BWD, before.context], -1))
        state = cast(StepwiseLSTM, self.decoder[0]).step(given, before)
        return AttentiveState(*state, self.attention(state.output, memory))

    def decode(self, y: Tensor, context: Tensor, through: Callable[[int, Tensor], Tensor]) -> Tensor:
        """The decoder's output, given that of its first layer and the context that attention read, all [B, T, D].

        `through(i, x)` is the output of the i-th LSTM for input x.
        """
        for i in range(1, len(self.decoder)):
            above = through(i, self.dropout(torch.cat([y, context], -1)))
            y = above + y if i > 1 else above
        return y

    def first_layer(self, target_BT: Tensor, memory: Memory) -> tuple[Tensor, Tensor]:
        """Outputs of the first layer and what attention read, [B, T, D]. The input is the target, shifted by zeros."""
        x_BTD, steps = F.pad(self.embed(target_BT[:, :-1]), (0, 0, 1, 0)), [self.start(len(target_BT))]
        for x_BD in x_BTD.unbind(1):
            steps.append(self.first_layer_step(x_BD[:, None], steps[-1], memory))
        return torch.cat([each.output for each in steps[1:]], 1), torch.cat([each.context for each in steps[1:]], 1)

    def forward(self, source: Rows, target: Rows) -> Tensor:
        """The decoder's output [R, T, D].

        The sentences of rows are separated, so that no LSTM carries its state from one sentence to the next. Then the
        outputs are put back into rows.
        """
        count = ((source.position == 0) & (source.ids != PADDING)).sum(1)
        sentences = separate(target, count)
        memory = self.memory(separate(source, count).ids)
        y, context = self.first_layer(sentences.ids, memory)
        y = self.decode(y, context, lambda i, x_BTD: self.decoder[i](x_BTD)[0])
        return y.flatten(0, 1)[sentences.place.clamp(min=0)]

    def start(self, sentences: int) -> AttentiveState:
        """The state of the first layer before the first step, for one hypothesis of each sentence."""
        zero = self.embedding.new_zeros(sentences, 1, self.config.d_model)
        return AttentiveState(zero, zero, zero)

    def begin(self, source_BS: Tensor) -> "RecurrentHypotheses":
        """See Network."""
        return RecurrentHypotheses(self, source_BS)


class RecurrentHypotheses:
    """The hypotheses of a search: the encoded source and the states of the decoder's LSTMs."""

    def __init__(self, model: Recurrent, source_BS: Tensor):
        self.model, self.memory = model, model.memory(source_BS)
        first = model.start(len(source_BS))
        others = [LSTMState(first.output, first.cell) for _ in model.decoder[1:]]
        self.states: list[LSTMState | AttentiveState] = [first, *others]

    def logits(self, token_BW: Tensor | None) -> Tensor:
        """See Hypotheses."""

        def through(i: int, x_BWD: Tensor) -> Tensor:
            self.states[i] = cast(StepwiseLSTM, self.model.decoder[i]).step(x_BWD, self.states[i])
            return self.states[i].output

        x = torch.zeros_like(self.states[0].output) if token_BW is None else self.model.embed(token_BW)
        self.states[0] = first = self.model.first_layer_step(x, cast(AttentiveState, self.states[0]), self.memory)
        return self.model.logits(self.model.decode(first.output, first.context, through))

    def follow(self, origin_BW: Tensor) -> None:
        """See Hypotheses."""
        index = origin_BW[:, :, None].expand(-1, -1, self.model.config.d_model)
        self.states = [type(state)(*(each.gather(1, index) for each in state)) for state in self.states]

    def select(self, sentences: Tensor) -> None:
        """See Hypotheses."""
        self.memory = Memory(*(each.index_select(0, sentences) for each in self.memory))
        self.states = [type(state)(*(each.index_select(0, sentences) for each in state)) for state in self.states]

"""A recurrent network as the Transformer was compared with: LSTMs with attention, as GNMT (Wu et al. 2016).

The form is that which MLPerf trained with PyTorch. There are N layers of width d_model on each side. The encoder's
first layer reads both ways, and each way is half as wide. The decoder's first layer asks with its output, by additive
attention (Bahdanau et al. 2015); what is read of the source goes into all layers above it, at the same position. GNMT
feeds it to the first layer, too, at the next position; without that, whole sentences are trained at once. Dropout acts
on the input of each LSTM; from the third layer on, the output of the layer below is added to its own.

Shapes: R rows, which hold one sentence or several; B sentences, each by itself, padded; S source and T target subwords;
W hypotheses of a sentence; D d_model; N subwords of the vocabulary.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from transformer.model.attention import HIDDEN, AdditiveAttention, Sentences, sentences, xavier_linear
from transformer.model.config import ModelConfig
from transformer.model.ids import END, PADDING
from transformer.model.network import Network

UNITS = (8, 4)  # of sentences and of their length: oneDNN keeps code and memory for each shape that it has seen


class State(NamedTuple):
    """Of an LSTM, for each hypothesis: output and cell [B, W, D]."""

    output: Tensor
    cell: Tensor


class Memory(NamedTuple):
    """What the decoder reads: keys and values [B, S, D]; the bias [B, 1, 1, S] hides padding."""

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
        """What is read of the values: [B, T, D]."""
        return self.attend(self.query(x_BTD)[:, None], *(each[:, None] for each in memory[:2]), memory.bias)[:, 0]


class Apart(NamedTuple):
    """The sentences of rows, each by itself: ids [B, L], and the place in them, all in one line, of each place [R, L].

    Places of no sentence, the padding of rows, have -1.
    """

    ids: Tensor
    place: Tensor


def apart(ids_RL: Tensor, stand: Sentences, count_R: Tensor) -> Apart:
    """The first `count` sentences of each row, in order; then empty ones."""
    first = count_R.cumsum(0) - count_R
    inside = stand.number < count_R[:, None]
    exact = int(count_R.sum()), int(stand.position[inside].amax()) + 1
    b, length = (-(-size // unit) * unit for size, unit in zip(exact, UNITS, strict=True))
    place = (first[:, None] + stand.number) * length + stand.position
    ids = ids_RL.new_full((b * length,), PADDING)
    ids[place[inside]] = ids_RL[inside]
    return Apart(ids.view(b, length), place.where(inside, -1))


def lstm(inputs: int, outputs: int) -> nn.LSTM:
    """One layer, one way."""
    return nn.LSTM(inputs, outputs, batch_first=True)


class Recurrent(Network):
    """LSTMs with attention, between the embeddings and the softmax of the Transformer."""

    def __init__(self, config: ModelConfig, vocabulary: int):
        super().__init__(config, vocabulary)
        d = config.d_model
        self.forwards, self.backwards = lstm(d, d // 2), lstm(d, d // 2)
        self.encoder = nn.ModuleList(lstm(d, d) for _ in range(config.N - 1))
        self.attention = SourceAttention(d)
        self.decoder = nn.ModuleList(lstm(d if i == 0 else 2 * d, d) for i in range(config.N))

    def compile(self, *_: Any, **__: Any) -> None:
        """Nothing: PyTorch compiles no LSTM, and the sentences of each batch have a shape of their own."""

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
        bias = torch.where(source_BS == PADDING, HIDDEN, 0.0)[:, None, None]  # finite: an empty sentence is all padding
        return Memory(self.attention.key(encoded), encoded, bias)

    def decode(self, x_BTD: Tensor, memory: Memory, through: Callable[[int, Tensor], Tensor]) -> Tensor:
        """The decoder's output [B, T, D] for its input; `through` gives what an LSTM, by its number, makes of its."""
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
        """The decoder's input: target sentences shifted right by a zero vector."""
        return F.pad(self.embed(target_BT[:, :-1]), (0, 0, 1, 0))

    def forward(self, source_RS: Tensor, target_RT: Tensor) -> Tensor:
        """Decoder output [R, T, D] at each target position, which has seen the positions before it.

        The k-th sentence of a target row translates the k-th of the source row. They leave their rows, lest an LSTM
        runs from one into the next, and what comes out goes back into these.
        """
        source = sentences(source_RS, END)
        count = ((source.position == 0) & (source_RS != PADDING)).sum(1)
        source_BS, target = apart(source_RS, source, count).ids, apart(target_RT, sentences(target_RT, END), count)
        y = self.decode(self._shifted(target.ids), self.memory(source_BS), self._whole)
        return y.flatten(0, 1)[target.place.clamp(min=0)]

    def last_attention_weights(self, source_BS: Tensor, target_BT: Tensor) -> Tensor:
        """Weights [B, 1, T, S] of the attention that there is."""
        asking = self._whole(0, self._shifted(target_BT))
        return self.attention.weights(asking, self.memory(source_BS))

    def states(self, sentences: int) -> list[State]:
        """Those of the decoder's LSTMs before the first step, of one hypothesis of each sentence."""
        zero = self.embedding.new_zeros(sentences, 1, self.config.d_model)
        return [State(zero, zero) for _ in self.decoder]

    def step(self, ids_BW: Tensor | None, memory: Memory, states: list[State]) -> Tensor:
        """Logits [B, W, N] of the next token, given the one before it (None at the first, where W is 1).

        The states become those after the step.
        """

        def through(i: int, x_BWD: Tensor) -> Tensor:
            before = tuple(each.flatten(0, 1)[None] for each in states[i])
            _, after = self.decoder[i](x_BWD.flatten(0, 1)[:, None], before)
            states[i] = State(*(each.view_as(states[i].output) for each in after))
            return states[i].output

        x = torch.zeros_like(states[0].output) if ids_BW is None else self.embed(ids_BW)
        return self.logits(self.decode(x, memory, through))

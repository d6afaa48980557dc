"""The other kind of network that the Transformer was compared with: gated convolutions with attention.

This is ConvS2S (Gehring et al. 2017, arXiv 1705.03122), in the form of fairseq's `fconv`. Encoder and decoder have N
convolutions of width 3 over d_model channels each, and a gated linear unit follows each convolution. Convolutions of
the decoder read no later subword. Every layer of the decoder has attention with one head over the encoder's output. Its
query is the layer's output plus the embedding of the previous target subword. Its values are the encoder's output plus
the source's embeddings. Learned positions are added to the embeddings of both sides. Dropout acts on the embeddings, on
the input of each convolution and on the decoder's output. Each operation keeps the variance of its input: a sum is
multiplied by sqrt(1/2), what attention reads of m source subwords by sqrt(m), and the initial weights are drawn to fit.

Ours differs from the published network in four points. All convolutions have one width; in the published models for WMT
the last ones are wider. Embeddings and softmax are the Transformer's: one matrix, no bias, and a vector of zeros where
the output starts. Weights are not normalised, and the gradients of the encoder are not divided by twice the number of
attentions. Both serve gradient descent with one rate for all weights. We train all networks with Adam, which divides
each gradient by its own size. In the shared embedding, where gradients of encoder and decoder are added, this does not
restore their shares.

Shapes: R rows, which hold one sentence or several; S source and T target subwords, L of either; D d_model; K width of a
convolution; V subwords of the vocabulary. In a search, R is B sentences, and T is W hypotheses of each.
"""

from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from transformer.model.attention import DotProductAttention
from transformer.model.cache import KeysValues
from transformer.model.config import ModelConfig
from transformer.model.ids import PADDING
from transformer.model.masks import Mask, Rows
from transformer.model.network import Network
from transformer.model.positions import LearnedPositions

K = 3
EMBEDDED = 0.1  # the published standard deviation of the initial embeddings; without this factor it would be 1
ROOT_HALF = 0.5**0.5  # the sum of two values of equal variance, times this, has their variance


def normal_linear(inputs: int, outputs: int, gain: float = 1.0) -> nn.Linear:
    """A linear map with normal weights of variance gain / inputs and zero biases. It multiplies variances by gain."""
    linear = nn.Linear(inputs, outputs)
    nn.init.normal_(linear.weight, std=(gain / inputs) ** 0.5)
    nn.init.zeros_(linear.bias)
    return linear


class Windows:
    """The K subwords that a convolution reads at each place of rows: the place itself, and `after` places after it.

    Places before or after the sentence count as zeros.
    """

    def __init__(self, rows: Rows, after: int):
        self.sides = K - 1 - after, after
        segment_RL1 = rows.segment[:, :, None]
        beyond = F.pad(segment_RL1, (0, 0, *self.sides), value=-1)
        self.shown = [each == segment_RL1 for each in self._shifted(beyond)]

    def __call__(self, x_RLD: Tensor) -> Tensor:
        """[R, L, D] to [R, L, K * D]."""
        shifted = self._shifted(F.pad(x_RLD, (0, 0, *self.sides)))
        return torch.cat([x * shown for x, shown in zip(shifted, self.shown, strict=True)], -1)

    def _shifted(self, padded: Tensor) -> list[Tensor]:
        length = padded.size(1) - K + 1
        return [padded[:, first : first + length] for first in range(K)]


class GatedConvolution(nn.Module):
    """A convolution and a gated linear unit, A * sigmoid(B) (Dauphin et al. 2016).

    The sigmoid is about 1/2, so A has four times the variance of the output. Dropout of the input has multiplied its
    variance by 1 / (1 - dropout).
    """

    def __init__(self, d_model: int, dropout: float):
        super().__init__()
        self.convolution = normal_linear(K * d_model, 2 * d_model, 4 * (1 - dropout))

    def forward(self, window: Tensor) -> Tensor:
        """[..., K * D] to [..., D]."""
        return F.glu(self.convolution(window))


class DecoderLayer(nn.Module):
    """A gated convolution, then attention over the encoder's output."""

    def __init__(self, config: ModelConfig):
        super().__init__()
        self.convolution = GatedConvolution(config.d_model, config.P_drop)
        self.query, self.output = (normal_linear(config.d_model, config.d_model) for _ in range(2))
        self.attend = DotProductAttention(1.0)

    def forward(self, window: Tensor, given: Tensor, memory: KeysValues, source_mask: Mask, root: Tensor) -> Tensor:
        """[R, T, K * D] to [R, T, D].

        `given` [R, T, D] is the embedded input, and `root` [R, T, 1] the root of the number of source subwords.
        """
        x = self.convolution(window)
        q = (self.query(x) + given.type_as(x)) * ROOT_HALF
        context = self.attend(q[:, None], memory, source_mask).squeeze(1) * root
        return (self.output(context) + x) * ROOT_HALF


class Convolutional(Network):
    """Gated convolutions with attention, with the embeddings and the softmax of the Transformer."""

    def __init__(self, config: ModelConfig, vocabulary: int):
        super().__init__(config, vocabulary)
        d, dropout = config.d_model, config.P_drop
        self.source_positions, self.target_positions = (LearnedPositions(d, config.max_length) for _ in range(2))
        self.into_encoder, self.into_decoder = (normal_linear(d, d, 1 - dropout) for _ in range(2))
        self.encoder = nn.ModuleList(GatedConvolution(d, dropout) for _ in range(config.N))
        self.decoder = nn.ModuleList(DecoderLayer(config) for _ in range(config.N))
        self.from_encoder, self.from_decoder = normal_linear(d, d), normal_linear(d, d)

    def forward(self, source: Rows, target: Rows) -> Tensor:
        """The decoder's output [R, T, D]. Its input is each target sentence, shifted right by a zero vector."""
        windows = Windows(target, after=0)
        given = self.stack_input(self.shift_right(target), self.target_positions, target.position)
        return self.decode(given, lambda _, x: windows(x), self.memory(source), Mask.of(target, source))

    def stack_input(self, embedded: Tensor, encoding: LearnedPositions, position: Tensor) -> Tensor:
        """The input of encoder or decoder, [R, L, D], from embeddings and positions."""
        return self.dropout((embedded + encoding.encoding(position)) * EMBEDDED)

    def memory(self, source: Rows) -> KeysValues:
        """The keys and values [R, 1, S, D] that all layers of the decoder read."""
        windows = Windows(source, after=K // 2)
        given = self.stack_input(self.embed(source.ids), self.source_positions, source.position)
        x = self.into_encoder(given)
        for layer in self.encoder:
            x = (layer(windows(self.dropout(x))) + x) * ROOT_HALF
        x = self.from_encoder(x)
        return KeysValues(x[:, None], ((x + given.type_as(x)) * ROOT_HALF)[:, None])

    def decode(
        self, given: Tensor, windows: Callable[[int, Tensor], Tensor], memory: KeysValues, source_mask: Mask
    ) -> Tensor:
        """The decoder's output [R, T, D] for its embedded input.

        `windows(i, x)` is what the i-th convolution reads of its input x, [R, T, K * D].
        """
        root = source_mask.shown.sum(-1, keepdim=True).sqrt()
        y = self.into_decoder(given)
        for i, layer in enumerate(self.decoder):
            y = (layer(windows(i, self.dropout(y)), given, memory, source_mask, root) + y) * ROOT_HALF
        return self.dropout(self.from_decoder(y))

    def begin(self, source_BS: Tensor) -> "ConvolutionalHypotheses":
        """See Network."""
        return ConvolutionalHypotheses(self, source_BS)


class ConvolutionalHypotheses:
    """The hypotheses of a search: the encoded source, and the last K - 1 inputs of each convolution of the decoder."""

    def __init__(self, model: Convolutional, source_BS: Tensor):
        self.model, self.memory = model, model.memory(Rows.of(source_BS))
        self.source_mask, self.length = Mask((source_BS != PADDING)[:, None]), 0
        none = model.embedding.new_zeros(len(source_BS), 1, (K - 1) * model.config.d_model)
        self.inputs = [none for _ in model.decoder]  # [B, W, (K - 1) * D] each

    def logits(self, token_BW: Tensor | None) -> Tensor:
        """See Hypotheses."""
        model, d = self.model, self.model.config.d_model

        def window(i: int, x_BWD: Tensor) -> Tensor:
            both = torch.cat([self.inputs[i], x_BWD], -1)
            self.inputs[i] = both[..., d:]
            return both

        x = self.inputs[0].new_zeros(len(self.inputs[0]), 1, d) if token_BW is None else model.embed(token_BW)
        position = torch.full((1, 1), self.length, device=x.device)
        self.length += 1
        given = model.stack_input(x, model.target_positions, position)
        return model.logits(model.decode(given, window, self.memory, self.source_mask))

    def follow(self, origin_BW: Tensor) -> None:
        """See Hypotheses."""
        index = origin_BW[:, :, None].expand(-1, -1, self.inputs[0].size(-1))
        self.inputs = [each.gather(1, index) for each in self.inputs]

    def select(self, sentences: Tensor) -> None:
        """See Hypotheses."""
        self.memory, self.source_mask = self.memory.select(sentences), Mask(self.source_mask.shown[sentences])
        self.inputs = [each.index_select(0, sentences) for each in self.inputs]

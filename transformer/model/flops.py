"""Count the floating-point operations of matrix products. A multiplication and an addition are two operations."""

import numpy as np

from transformer.model.config import ModelConfig


def forward_flops(config: ModelConfig, vocabulary: int, lengths: np.ndarray, hypotheses: int = 1) -> float:
    """FLOPs of one forward pass over pairs of `lengths` [pairs, 2] (source, target), without padding.

    Training costs three times as much. In a beam search, each source has `hypotheses` targets. The count leaves out
    element-wise work (softmax, LayerNorm, dropout, the tanh of additive attention) and, of additive attention, the
    scores that the decoder's mask hides. Those of an idea are counted on the built network.
    """
    source, target = lengths.astype(np.float64).T
    if config.idea is not None:
        from transformer.model.built import built_flops

        (once, s, t, ss, tt, st), _ = built_flops(config, vocabulary)
        decoder = t * target + tt * target**2 + st * source * target
        return once + float((s * source + ss * source**2 + hypotheses * decoder).sum())
    if config.network == "recurrent":
        return _recurrent(config.N, config.d_model, vocabulary, source, target, hypotheses)
    if config.network == "convolutional":
        return _convolutional(config.N, config.d_model, vocabulary, source, target, hypotheses)
    keys, values = config.h * config.d_k, config.h * config.d_v
    projections = config.d_model * (2 * keys + 2 * values)
    parameters = config.attention_over_parameters
    if parameters is None:
        position_wise = 2 * config.d_model * config.d_ff
    else:
        over = parameters.h_p * (parameters.d_pk + parameters.d_pv)
        position_wise = over * (config.d_model + parameters.n_p)
    encoder = source * (projections + position_wise) + source * source * (keys + values)
    memory = source * config.d_model * (keys + values)
    scored = (target + 1) / 2 if config.attention == "additive" else target
    decoder = target * (projections + position_wise) + target * (scored * keys + target * values)
    decoder += target * config.d_model * (keys + values) + source * target * (keys + values)
    softmax = target * config.d_model * vocabulary
    return float(2 * (config.N * (encoder + memory) + hypotheses * (config.N * decoder + softmax)).sum())


def optimizer_flops(config: ModelConfig, vocabulary: int) -> float:
    """FLOPs of the optimizer in a step: none of Adam, which computes no matrix product."""
    if config.idea is None:
        return 0.0
    from transformer.model.built import built_flops

    return built_flops(config, vocabulary)[1]


def _recurrent(N: int, width: int, vocabulary: int, source: np.ndarray, target: np.ndarray, hypotheses: int) -> float:
    # The first LSTM counts 6, because it has two directions of half the width. Each other LSTM counts 8, and the keys
    # of attention count 1.
    encoder = source * width**2 * (6 + 8 * (N - 1) + 1)
    # Each LSTM counts 12, because its input is twice as wide. The queries of attention count 1.
    decoder = target * width**2 * (12 * N + 1)
    decoder += 2 * source * target * width + target * width * vocabulary
    return float(2 * (encoder + hypotheses * decoder).sum())


def _convolutional(
    N: int, width: int, vocabulary: int, source: np.ndarray, target: np.ndarray, hypotheses: int
) -> float:
    # A convolution counts 6, because it reads three subwords and its output is twice as wide. The two linear maps of a
    # side count 2, and so do the two of each attention.
    encoder = source * width**2 * (6 * N + 2)
    decoder = target * width**2 * (8 * N + 2)
    decoder += 2 * N * source * target * width + target * width * vocabulary
    return float(2 * (encoder + hypotheses * decoder).sum())

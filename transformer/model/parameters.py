"""Count a model's parameters from its sizes, without loading PyTorch unless it has an idea."""

from transformer.model.config import BUCKETS, ModelConfig


def parameters(config: ModelConfig, vocabulary: int) -> int:
    """How many parameters a network of this config has. Those of an idea are counted on the built network."""
    if config.idea is not None:
        from transformer.model.built import built_weights

        return built_weights(config, vocabulary)[0]
    if config.network == "recurrent":
        return vocabulary * config.d_model + _recurrent(config.N, config.d_model)
    if config.network == "convolutional":
        positions = 2 * config.max_length * config.d_model
        return vocabulary * config.d_model + positions + _convolutional(config.N, config.d_model)
    width, keys, values = config.d_model, config.h * config.d_k, config.h * config.d_v
    norm = 2 * width
    vector = keys if config.attention == "additive" else 0
    attention = vector + 2 * _linear(width, keys) + _linear(width, values) + _linear(values, width) + norm
    over = config.attention_over_parameters
    if over is None:
        position_wise = _linear(width, config.d_ff) + _linear(config.d_ff, width) + norm
    else:
        memory = over.h_p * over.n_p * (over.d_pk + over.d_pv)
        position_wise = _linear(width, over.h_p * over.d_pk) + memory + _linear(over.h_p * over.d_pv, width) + norm
    encoder_layer, decoder_layer = attention + position_wise, 2 * attention + position_wise
    positions = {"learned": config.max_length * width, "t5": BUCKETS * config.h}.get(config.positions, 0)
    return vocabulary * width + 2 * positions + config.N * (encoder_layer + decoder_layer)


def _linear(inputs: int, outputs: int) -> int:
    return (inputs + 1) * outputs


def _recurrent(N: int, width: int) -> int:
    encoder = 2 * _lstm(width, width // 2) + (N - 1) * _lstm(width, width)
    attention = 2 * _linear(width, width) + width
    return encoder + attention + N * _lstm(2 * width, width)


def _lstm(inputs: int, outputs: int) -> int:
    return 4 * outputs * (inputs + outputs + 2)  # 2: PyTorch's LSTM has two biases


def _convolutional(N: int, width: int) -> int:
    maps, attention = 4 * _linear(width, width), 2 * _linear(width, width)
    return maps + N * (2 * _linear(3 * width, 2 * width) + attention)

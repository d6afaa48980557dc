"""Multi-query attention: all heads share one head of keys and one of values, and the cache is h times smaller.

Source: Shazeer 2019, Fast Transformer Decoding: One Write-Head is All You Need (arXiv 1911.02150).
"""

from transformer.model.attention import EncoderDecoderAttention, SelfAttention, split_heads, xavier_linear
from transformer.model.cache import KeysValues


class MultiQuery:
    """Repeats the one head of keys and values for all heads of queries."""

    def multi_head(self, q, keys_values, mask):
        """[B, H, T, K] to [B, T, D]."""
        return super().multi_head(q, KeysValues(*(x.expand(-1, self.h, -1, -1) for x in keys_values)), mask)


class MultiQuerySelfAttention(MultiQuery, SelfAttention):
    """Self-attention."""

    def __init__(self, config):
        super().__init__(config)
        self.sizes = self.keys_width, config.d_k, config.d_v
        self.query_key_value = xavier_linear(config.d_model, sum(self.sizes))

    def heads(self, x):
        """h heads of queries, one of keys and one of values."""
        q, k, v = self.query_key_value(x).split(self.sizes, -1)
        return split_heads(q, self.h), split_heads(k, 1), split_heads(v, 1)


class MultiQueryEncoderDecoderAttention(MultiQuery, EncoderDecoderAttention):
    """Attention of the decoder over the encoder's output."""

    def __init__(self, config):
        super().__init__(config)
        self.sizes = config.d_k, config.d_v
        self.key_value = xavier_linear(config.d_model, sum(self.sizes))

    def keys_values(self, encoded):
        """One head of keys and one of values."""
        return KeysValues(*(split_heads(x, 1) for x in self.key_value(encoded).split(self.sizes, -1)))


def change(model):
    """Replace all attentions."""
    for layer in [*model.encoder, *model.decoder]:
        layer.self_attention = MultiQuerySelfAttention(model.config)
    for layer in model.decoder:
        layer.encoder_attention = MultiQueryEncoderDecoderAttention(model.config)

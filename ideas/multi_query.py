"""Multi-query attention: all heads share one head of keys and one of values, and the cache is h times smaller.

Source: Shazeer 2019, Fast Transformer Decoding: One Write-Head is All You Need (arXiv 1911.02150).
"""

from transformer.model.attention import EncoderDecoderAttention, SelfAttention, split_heads, xavier_linear
from transformer.model.cache import KeysValues


class MultiQuery:
    """Repeats the one head of keys and values for all heads of queries."""

    def multi_head(self, q, keys_values, mask):
        return super().multi_head(q, KeysValues(*(x.expand(-1, self.h, -1, -1) for x in keys_values)), mask)


class OfSelf(MultiQuery, SelfAttention):
    def heads(self, x):
        q, *keys_values = self.query_key_value(x).split(self.sizes, -1)
        return split_heads(q, self.h), *(split_heads(each, 1) for each in keys_values)


class OfEncoder(MultiQuery, EncoderDecoderAttention):
    def keys_values(self, encoded):
        return KeysValues(*(split_heads(x, 1) for x in self.key_value(encoded).split(self.sizes, -1)))


def change(model):
    """Replace all attentions."""
    config, sizes = model.config, (model.config.d_k, model.config.d_v)
    for layer in [*model.encoder, *model.decoder]:
        layer.self_attention = own = OfSelf(config)
        own.sizes = own.keys_width, *sizes
        own.query_key_value = xavier_linear(config.d_model, sum(own.sizes))
    for layer in model.decoder:
        layer.encoder_attention = other = OfEncoder(config)
        other.sizes, other.key_value = sizes, xavier_linear(config.d_model, sum(sizes))

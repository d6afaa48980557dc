"""Models of other libraries that compute the same function as ours.

They have the same dimensions and positions, and dropout at the same places.
"""

from itertools import product

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from transformer.model.config import ModelConfig
from transformer.model.ids import PADDING
from transformer.model.positions import sinusoids

PRECISIONS = {"float32": torch.float32, "bfloat16": torch.bfloat16}
SETTINGS = tuple(product(PRECISIONS, ("sdpa", "eager")))


class Marian(nn.Module):
    """Hugging Face's MarianMTModel."""

    needs = "transformers"

    def __init__(self, config: ModelConfig, vocabulary: int, attention: str):
        from transformers import MarianConfig, MarianMTModel

        super().__init__()
        sizes = {"layers": config.N, "ffn_dim": config.d_ff, "attention_heads": config.h}
        sizes = {f"{side}_{key}": value for side in ("encoder", "decoder") for key, value in sizes.items()}
        sizes |= {"vocab_size": vocabulary, "d_model": config.d_model, "max_position_embeddings": config.max_length}
        ids = {"pad_token_id": PADDING, "decoder_start_token_id": PADDING}
        kinds = {"activation_function": "relu", "scale_embedding": True, "attn_implementation": attention}
        dropouts = {"dropout": config.P_drop, "attention_dropout": config.attention_dropout}
        self.core = MarianMTModel(MarianConfig(**sizes, **ids, **kinds, **dropouts))
        self.embedding = self.core.get_input_embeddings().weight
        for side in (self.core.model.encoder, self.core.model.decoder):
            side.embed_positions.weight.copy_(sinusoids(config.max_length, config.d_model))
            for module in [module for module in side.modules() if hasattr(module, "q_proj")]:
                for name in ("q_proj", "k_proj", "v_proj", "out_proj"):  # put into the order of our projections
                    module.add_module(name, module._modules.pop(name))

    def forward(self, source: Tensor, target: Tensor) -> Tensor:
        """Logits [B, T, V] of source [B, S] and target [B, T]."""
        shifted = F.pad(target[:, :-1], (1, 0), value=PADDING)
        return self.core(source, source != PADDING, shifted, use_cache=False).logits


class Layers(nn.Module):
    """The layers of a library, with the embeddings, positions and softmax of Marian."""

    def __init__(self, config: ModelConfig, vocabulary: int, core: nn.Module):
        super().__init__()
        self.core, self.dropout = core, nn.Dropout(config.P_drop)
        self.embedding = nn.Parameter(torch.empty(vocabulary, config.d_model))
        self.register_buffer("positions", sinusoids(config.max_length, config.d_model))

    def embed(self, ids: Tensor) -> Tensor:
        """[B, L] to [B, L, D]."""
        x = F.embedding(ids, self.embedding, padding_idx=PADDING) * self.embedding.size(1) ** 0.5
        return self.dropout(x + self.positions[: ids.size(1)])

    def forward(self, source: Tensor, target: Tensor) -> Tensor:
        """Logits [B, T, V] of source [B, S] and target [B, T]."""
        shifted = F.pad(target[:, :-1], (1, 0), value=PADDING)
        return F.linear(self.decoded(self.embed(source), self.embed(shifted), source == PADDING), self.embedding)


class XTransformers(Layers):
    """Encoder and Decoder of x-transformers. The projections of its attention have no biases."""

    needs = "x_transformers"

    def __init__(self, config: ModelConfig, vocabulary: int, attention: str):
        from x_transformers import Decoder, Encoder

        sizes = {"dim": config.d_model, "depth": config.N, "heads": config.h, "attn_dim_head": config.d_k}
        sizes |= {"ff_mult": config.d_ff / config.d_model, "attn_flash": attention == "sdpa", "pre_norm": False}
        sizes |= {"attn_sublayer_dropout": config.P_drop, "ff_sublayer_dropout": config.P_drop}
        sizes |= {"ff_custom_activation": nn.ReLU(), "attn_dropout": config.attention_dropout}
        super().__init__(config, vocabulary, nn.ModuleList([Encoder(**sizes), Decoder(**sizes, cross_attend=True)]))

    def decoded(self, x: Tensor, y: Tensor, padding: Tensor) -> Tensor:
        """Output [B, T, D] of the decoder."""
        encoder, decoder = self.core
        return decoder(y, context=encoder(x, mask=~padding), context_mask=~padding)


class TorchTransformer(Layers):
    """torch.nn.Transformer without its dropout inside the feed-forward layer."""

    needs = "torch"

    def __init__(self, config: ModelConfig, vocabulary: int, _: str):
        sizes = (config.d_model, config.h, config.N, config.N, config.d_ff, config.P_drop)
        core = nn.Transformer(*sizes, batch_first=True)
        core.encoder.norm = core.decoder.norm = None
        for module in core.modules():
            if isinstance(module, nn.MultiheadAttention):
                module.dropout = config.attention_dropout
            elif isinstance(module, nn.TransformerEncoderLayer | nn.TransformerDecoderLayer):
                module.dropout = nn.Identity()
        super().__init__(config, vocabulary, core)

    def decoded(self, x: Tensor, y: Tensor, padding: Tensor) -> Tensor:
        """Output [B, T, D] of the decoder."""
        causal = torch.ones(y.size(1), y.size(1), dtype=torch.bool, device=y.device).triu(1)
        masks = {"src_key_padding_mask": padding, "memory_key_padding_mask": padding, "tgt_is_causal": True}
        return self.core(x, y, tgt_mask=causal, **masks)


PEERS = {  # name -> (model, settings to try)
    "MarianMTModel": (Marian, SETTINGS),
    "MarianMTModel by default": (Marian, SETTINGS[:1]),
    "x-transformers": (XTransformers, SETTINGS),
    "torch.nn.Transformer": (TorchTransformer, SETTINGS[::2]),
}

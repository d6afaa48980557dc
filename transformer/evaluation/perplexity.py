"""Perplexity a subword: without label smoothing, the end of sentence counted, padding not (Table 3)."""

import math

import numpy as np
import torch

from transformer.decoding.translate import check_lengths
from transformer.package.package import Package
from transformer.support.device import within_memory
from transformer.text.batches import once
from transformer.text.tokens import Pairs
from transformer.training.loss import batch_loss


@torch.inference_mode()
def perplexity(package: Package, pairs: Pairs, batch_tokens: int) -> float:
    """exp of the mean negative log-likelihood of the target subwords, in float32.

    Raises InputError for a pair beyond the learned positions, and when memory runs out.
    """
    check_lengths(package, pairs.lengths.max(1))
    total = 0.0
    with within_memory(f"perplexity by {package.config.model}", f"lower --batch-tokens, {batch_tokens} now"):
        for batch in once(pairs, np.arange(len(pairs)), batch_tokens):
            total += batch_loss(package.model, batch, 0.0).total.item()
    return math.exp(total / int(pairs.lengths[:, 1].sum()))

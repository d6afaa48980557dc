"""Ancestral sampling: each subword is drawn from the model's distribution, given the subwords before it.

Shapes: B sentences, L longest output.
"""

from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor

from transformer.decoding.beam import LOOK, Hypothesis, limits
from transformer.model.ids import END
from transformer.model.network import Network


@torch.inference_mode()
def sample(
    model: Network, source_BS: Tensor, extra: int, generators: Sequence[np.random.Generator]
) -> list[Hypothesis]:
    """One output for each sentence, drawn with the sentence's own generator. Its score is log P.

    Output lengths are limited as in `beam_search`. Up to rounding, an output does not depend on the rest of the batch.
    """
    b, device = source_BS.size(0), source_BS.device
    limit = limits(model, source_BS, extra)
    longest = int(limit.max())
    uniform_BL = torch.tensor(np.stack([generator.random(longest) for generator in generators]), device=device)
    growing = model.begin(source_BS)
    ids_BL = torch.full((b, longest), END, device=device)
    logp = torch.zeros(b, dtype=torch.double, device=device)
    going = torch.ones(b, dtype=torch.bool, device=device)
    token = None
    for position in range(longest):
        logits = growing.logits(token)
        p = logits[:, 0].double().softmax(1)
        token = (p.cumsum(1) <= uniform_BL[:, position, None]).sum(1, keepdim=True)
        ids_BL[:, position] = torch.where(going, token[:, 0], END)
        logp += torch.where(going, p.gather(1, token)[:, 0].log(), 0.0)
        going &= (token[:, 0] != END) & (position + 1 < limit)
        if (position + 1) % LOOK[device.type] == 0 and not going.any():
            break
    return [
        Hypothesis(ids[: [*ids, END].index(END)], score)
        for ids, score in zip(ids_BL.tolist(), logp.tolist(), strict=True)
    ]

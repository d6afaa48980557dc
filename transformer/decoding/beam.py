"""Beam search (section 6.1) with the length penalty of Wu et al. (2016) and the early stop of the authors' code.

Shapes: B sentences, W beam, V vocabulary, L longest output.
"""

from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch import Tensor

from transformer.config import END, PADDING
from transformer.model.attention import KeysValues
from transformer.model.transformer import Transformer


def length_penalty(length: Tensor | float, alpha: float) -> Tensor | float:
    """((5 + length) / 6)^alpha; the end of sentence is counted in `length`."""
    return ((5 + length) / 6) ** alpha


class Hypothesis(NamedTuple):
    """Output ids without the end of sentence, and log P / length penalty; only log P where the end was not reached."""

    ids: list[int]
    score: float


@dataclass
class Beam:
    """The state of the search.

    Hypotheses alive and finished are kept apart; a free place has the score -infinity.
    """

    alive_ids: Tensor  # [B, W, L]
    alive_logp: Tensor  # [B, W]
    finished_ids: Tensor  # [B, W, L]
    finished_score: Tensor  # [B, W]
    limit: Tensor  # [B], the longest output of each sentence, end of sentence counted

    def select(self, rows: Tensor) -> "Beam":
        """The state of some sentences only."""
        return Beam(*(getattr(self, name)[rows] for name in self.__dataclass_fields__))

    def done(self, length: int, alpha: float) -> Tensor:
        """[B]: at its limit, or no alive hypothesis can still beat the worst finished one."""
        best_possible = self.alive_logp[:, 0] / length_penalty(self.limit, alpha)
        return (length >= self.limit) | (self.finished_score.amin(1) >= best_possible)

    def best(self) -> list[list[Hypothesis]]:
        """Of each sentence the finished hypotheses, best first; where there is none, the best alive one."""
        results = []
        for finished, scores, alive, logp, limit in zip(
            self.finished_ids.tolist(),
            self.finished_score.tolist(),
            self.alive_ids[:, 0].tolist(),
            self.alive_logp[:, 0].tolist(),
            self.limit.tolist(),
            strict=True,
        ):
            found = [
                Hypothesis(ids[: ids.index(END)], score)
                for ids, score in zip(finished, scores, strict=True)
                if score > float("-inf")
            ]
            results.append(found or [Hypothesis(alive[:limit], logp)])
        return results


def advance(beam: Beam, logits_BWV: Tensor, length: int, alpha: float) -> Tensor:
    """Append one token, the `length`-th, to every hypothesis; returns which one [B, W] each alive one grew from."""
    b, width, vocabulary = logits_BWV.shape
    # The best 2W of a sentence are among the best 2W of its hypotheses; 2W, so that W not ended are among them.
    values, tokens = logits_BWV.float().topk(min(2 * width, vocabulary), -1)
    logp = values - logits_BWV.float().logsumexp(-1, keepdim=True) + beam.alive_logp[:, :, None]
    logp, flat = logp.flatten(1).topk(min(2 * width, logp[0].numel()), -1)
    origin = flat // tokens.size(-1)
    token = tokens.flatten(1).gather(1, flat)
    ids = beam.alive_ids.gather(1, origin[:, :, None].expand(-1, -1, beam.alive_ids.size(-1)))
    ids[:, :, length - 1] = token
    ended = token == END

    scores = torch.cat([beam.finished_score, (logp / length_penalty(length, alpha)).masked_fill(~ended, -torch.inf)], 1)
    beam.finished_score, chosen = scores.topk(width, -1)
    beam.finished_ids = torch.cat([beam.finished_ids, ids], 1)[torch.arange(b)[:, None], chosen]

    beam.alive_logp, chosen = logp.masked_fill(ended, -torch.inf).topk(width, -1)
    beam.alive_ids = ids[torch.arange(b)[:, None], chosen]
    return origin.gather(1, chosen)


def grown(cache: Tensor, chosen: Tensor, width: int) -> Tensor:
    """The keys or values of the hypotheses `chosen` among [B, W], with room for one more token."""
    kept = cache.flatten(0, 1).index_select(0, chosen)
    return torch.cat([kept, kept[:, :, -1:]], 2).unflatten(0, (-1, width))


@torch.inference_mode()
def beam_search(model: Transformer, source_BS: Tensor, width: int, alpha: float, extra: int) -> list[list[Hypothesis]]:
    """The finished hypotheses of each sentence, best first; of at most source + `extra` tokens, ends counted in both.

    Sentences that are done leave the batch, so the others go on faster.
    """
    b, device = source_BS.size(0), source_BS.device
    limit = (source_BS != PADDING).sum(1) + extra
    if model.config.positions == "learned":
        limit = limit.clamp(max=model.config.max_length)
    longest = int(limit.max())
    encoded, bias = model.encode(source_BS)
    memories = model.memory(encoded)
    caches = [  # of the tokens so far and the one to come
        KeysValues(*(encoded.new_empty(b, width, model.config.h, 1, d) for d in (model.config.d_k, model.config.d_v)))
        for _ in memories
    ]
    beam = Beam(
        alive_ids=torch.full((b, width, longest), PADDING, device=device),
        alive_logp=torch.full((b, width), -torch.inf, device=device),
        finished_ids=torch.full((b, width, longest), PADDING, device=device),
        finished_score=torch.full((b, width), -torch.inf, device=device),
        limit=limit,
    )
    beam.alive_logp[:, 0] = 0
    results: list[list[Hypothesis]] = [[] for _ in range(b)]
    sentences = torch.arange(b, device=device)
    tokens = None
    for length in range(1, longest + 1):
        logits = model.step(tokens, length - 1, memories, bias, caches)
        origin = advance(beam, logits, length, alpha)
        done = beam.done(length, alpha)
        if done.any():
            for sentence, hypotheses in zip(sentences[done].tolist(), beam.select(done).best(), strict=True):
                results[sentence] = hypotheses
            if done.all():
                break
            going = ~done
            beam, origin, sentences, bias = beam.select(going), origin[going], sentences[going], bias[going]
            memories = [KeysValues(memory.keys[going], memory.values[going]) for memory in memories]
        flat = ((~done).nonzero() * width + origin).flatten()
        caches = [KeysValues(*(grown(tensor, flat, width) for tensor in cache)) for cache in caches]
        tokens = beam.alive_ids[:, :, length - 1]
    return results

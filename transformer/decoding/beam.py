"""Beam search (section 6.1) with the length penalty of Wu et al. (2016) and the early stop of the authors' code.

Shapes: B sentences, W beam, V vocabulary, L longest output.
"""

from dataclasses import dataclass
from typing import NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor

from transformer.decoding.cache import ROW, Cache
from transformer.model.attention import KeysValues, padding_bias
from transformer.model.ids import END, PADDING
from transformer.model.positions import last_position
from transformer.model.transformer import Transformer

BLOCK = 64  # of the vocabulary, of which the maximum is found first
LOOK = {"cpu": 1, "cuda": 8}  # steps after which is looked which sentences are done: a GPU is waited for then


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

    alive_ids: Tensor  # [B, W, L]; at first one, empty
    alive_logp: Tensor  # [B, W]
    finished_ids: Tensor  # [B, W, L]
    finished_score: Tensor  # [B, W]
    limit: Tensor  # [B], the longest output of each sentence, end of sentence counted

    def select(self, rows: Tensor) -> "Beam":
        """The state of some sentences only."""
        return Beam(*(getattr(self, name)[rows] for name in self.__dataclass_fields__))

    def promising(self, alpha: float, nbest: bool) -> Tensor:
        """[B, W]: whether an alive hypothesis can still beat the worst finished one, or the best if not `nbest`.

        Alive hypotheses are sorted, so the promising ones come first.
        """
        bar = self.finished_score.amin(1) if nbest else self.finished_score.amax(1)
        return self.alive_logp / length_penalty(self.limit[:, None], alpha) > bar[:, None]

    def close(self, done: Tensor) -> None:
        """End the search for some sentences [B]; where none has ended, the best alive hypothesis is the result."""
        none = (done & (self.finished_score[:, 0] == -torch.inf))[:, None]
        self.finished_score[:, :1] = torch.where(none, self.alive_logp[:, :1], self.finished_score[:, :1])
        longest = self.alive_ids.size(2)
        shown = torch.arange(longest, device=done.device) < self.limit[:, None]
        best = torch.where(shown, self.alive_ids[:, 0], END)
        self.finished_ids[:, 0] = torch.where(none, best, self.finished_ids[:, 0])
        self.alive_logp = self.alive_logp.masked_fill(done[:, None], -torch.inf)

    def narrow(self, width: int) -> None:
        """Keep the best alive hypotheses only."""
        self.alive_ids, self.alive_logp = self.alive_ids[:, :width], self.alive_logp[:, :width]

    def best(self) -> list[list[Hypothesis]]:
        """The finished hypotheses of each sentence, best first."""
        return [
            [
                Hypothesis(ids[: [*ids, END].index(END)], score)
                for ids, score in zip(finished, scores, strict=True)
                if score != float("-inf")
            ]
            for finished, scores in zip(self.finished_ids.tolist(), self.finished_score.tolist(), strict=True)
        ]


def top(x_NV: Tensor, count: int) -> tuple[Tensor, Tensor]:
    """The `count` largest of each row, as `Tensor.topk` gives them: they are in the blocks with the largest maxima."""
    rows, vocabulary = x_NV.shape
    whole = vocabulary // BLOCK * BLOCK
    if count * BLOCK >= whole:
        return x_NV.topk(count, 1)
    columns = torch.arange(vocabulary, device=x_NV.device)
    blocks = x_NV[:, :whole].unflatten(1, (-1, BLOCK)).amax(2).topk(count, 1).indices
    candidates = (blocks[:, :, None] * BLOCK + columns[:BLOCK]).flatten(1)
    candidates = torch.cat([candidates, columns[whole:].expand(rows, -1)], 1)
    values, chosen = x_NV.gather(1, candidates).topk(count, 1)
    return values, candidates.gather(1, chosen)


def advance(beam: Beam, logits_BWV: Tensor, length: int, alpha: float) -> Tensor:
    """Append one token, the `length`-th, to every hypothesis; returns which one [B, W] each alive one grew from."""
    b, _, vocabulary = logits_BWV.shape
    sentence = torch.arange(b, device=logits_BWV.device)[:, None]
    width = beam.finished_score.size(1)
    # The best 2W of a sentence are among the best 2W of its hypotheses; 2W, so that W not ended are among them. A beam
    # of one is greedy search.
    candidates = 2 * width if width > 1 else 1
    logits = logits_BWV.flatten(0, 1).float()
    values, tokens = top(logits, min(candidates, vocabulary))
    normalizer = values[:, :1] - logits.softmax(1).amax(1, keepdim=True).log()  # logsumexp, faster
    logp = (values - normalizer + beam.alive_logp.flatten()[:, None]).view(b, -1)
    logp, flat = logp.topk(min(candidates, logp.size(1)), 1)
    origin = flat // tokens.size(1)
    token = tokens.view(b, -1).gather(1, flat)
    ids = beam.alive_ids.gather(1, origin[:, :, None].expand(-1, -1, beam.alive_ids.size(-1)))
    ids[:, :, length - 1] = token
    ended = token == END

    scores = torch.cat([beam.finished_score, (logp / length_penalty(length, alpha)).masked_fill(~ended, -torch.inf)], 1)
    beam.finished_score, chosen = scores.topk(width, 1)
    beam.finished_ids = torch.cat([beam.finished_ids, ids], 1)[sentence, chosen]

    beam.alive_logp, chosen = logp.masked_fill(ended, -torch.inf).topk(min(width, logp.size(1)), 1)
    beam.alive_ids = ids[sentence, chosen]
    return origin.gather(1, chosen)


def limits(model: Transformer, source_BS: Tensor, extra: int) -> Tensor:
    """[B]: the longest output of each sentence: source + `extra` tokens, but no more than the learned positions."""
    limit = (source_BS != PADDING).sum(1) + extra
    last = last_position(model.config)
    return limit if last is None else limit.clamp(max=last)


@torch.inference_mode()
def beam_search(
    model: Transformer, source_BS: Tensor, width: int, alpha: float, extra: int, nbest: bool = True
) -> list[list[Hypothesis]]:
    """The finished hypotheses of each sentence, best first; of at most source + `extra` tokens, ends counted in both.

    Without `nbest` the first one is the same, the others need not be the best. A hypothesis that can win nothing goes
    no further: what would take its place is no better. When an eighth of the sentences is done, they leave the batch,
    so that the others go on faster; until then nothing becomes of them.
    """
    b, device = source_BS.size(0), source_BS.device
    limit = limits(model, source_BS, extra)
    longest = int(limit.max())
    (encoded, _), bias = model.encode(source_BS), padding_bias(source_BS, PADDING)
    more = -source_BS.size(1) % ROW
    encoded, bias = F.pad(encoded, (0, 0, 0, more)), F.pad(bias, (0, more), value=-torch.inf)
    memories = [KeysValues(*(tensor.contiguous() for tensor in memory)) for memory in model.memory(encoded)]
    cache = Cache(model.config, b, device)
    beam = Beam(
        alive_ids=torch.full((b, 1, longest), PADDING, device=device),
        alive_logp=torch.zeros((b, 1), device=device),
        finished_ids=torch.full((b, width, longest), PADDING, device=device),
        finished_score=torch.full((b, width), -torch.inf, device=device),
        limit=limit,
    )
    results: list[list[Hypothesis]] = [[] for _ in range(b)]
    sentences, tokens = list(range(b)), None
    for length in range(1, longest + 1):
        logits = model.step(tokens, length - 1, memories, bias, *cache.grow(beam.alive_ids.size(1)))
        origin = advance(beam, logits, length, alpha)
        promising = beam.promising(alpha, nbest) & (length < beam.limit)[:, None]
        beam.close(~promising[:, 0])
        if length % LOOK[device.type] == 0 or length == longest:
            widths = promising.sum(1).tolist()
            going = [row for row, width in enumerate(widths) if width]
            if 8 * (len(widths) - len(going)) >= len(widths):
                done = [row for row, width in enumerate(widths) if not width]
                for row, hypotheses in zip(done, beam.select(torch.tensor(done, device=device)).best(), strict=True):
                    results[sentences[row]] = hypotheses
                if not going:
                    break
                rows = torch.tensor(going, device=device)
                beam, sentences, bias = beam.select(rows), [sentences[row] for row in going], bias[rows]
                memories = [KeysValues(*(tensor.index_select(0, rows) for tensor in memory)) for memory in memories]
                cache.select(rows)
                origin = origin[rows]
            beam.narrow(max(widths))
        cache.follow(origin[:, : beam.alive_ids.size(1)])
        tokens = beam.alive_ids[:, :, length - 1]
    return results

"""Beam search (section 6.1) with the length penalty of Wu et al. (2016). It ends by the rule of the authors' code.

Shapes: B sentences, W beam, V vocabulary, L longest output.
"""

from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch import Tensor

from transformer.model.config import last_position
from transformer.model.ids import END, PADDING
from transformer.model.network import Network

BLOCK = 64  # size of the blocks of subwords whose maxima `top` finds first
LOOK = {"cpu": 1, "cuda": 8}  # steps between checks for finished sentences; a check makes the CPU wait for the GPU


def length_penalty(length: Tensor | float, alpha: float) -> Tensor | float:
    """((5 + length) / 6)^alpha. `length` counts the end of sentence."""
    return ((5 + length) / 6) ** alpha


class Hypothesis(NamedTuple):
    """Output ids without the end of sentence, and their score: log P / length penalty (of a sample, log P).

    The penalty counts the end of sentence, also where a hypothesis has reached the limit without one.
    """

    ids: list[int]
    score: float


@dataclass
class Beam:
    """The state of the search.

    Alive and finished hypotheses are stored separately. An empty slot has the score -infinity. `hypotheses` recovers
    the tokens by tracing `chosen` backwards.
    """

    alive_logp: Tensor  # [B, W]; at the start W is 1, the empty hypothesis
    finished_score: Tensor  # [B, W]
    finished_at: Tensor  # [B, W]: number of steps x W + rank of the alive hypothesis that ended
    chosen: Tensor  # [B, L, W]: for each step and rank, previous rank x V + token
    limit: Tensor  # [B], the most output ids of each sentence, including the end of sentence

    def select(self, rows: Tensor) -> "Beam":
        """The state of the given sentences."""
        return Beam(*(getattr(self, name)[rows] for name in self.__dataclass_fields__))

    def promising(self, alpha: float, nbest: bool, length: Tensor | int) -> Tensor:
        """[B, W]: whether an alive hypothesis can beat the worst finished one (without `nbest`, the best) at a length.

        Alive hypotheses are sorted, so the promising ones come first.
        """
        bar = self.finished_score[:, -1:] if nbest else self.finished_score[:, :1]
        return self.alive_logp / length_penalty(length, alpha) > bar

    def keep(self, promising: Tensor, length: int, alpha: float) -> None:
        """Drop alive hypotheses that are not `promising` [B, W]. A sentence without promising ones is finished.

        If none of its hypotheses has ended, its best alive one is the result.
        """
        best = self.finished_score[:, 0]
        none = ~promising[:, 0] & (best == -torch.inf)
        best.copy_(torch.where(none, self.alive_logp[:, 0] / length_penalty(length + 1, alpha), best))
        self.finished_at[:, 0].masked_fill_(none, length * self.finished_at.size(1))
        self.alive_logp = self.alive_logp.masked_fill(~promising, -torch.inf)

    def hypotheses(self, count: int, vocabulary: int) -> list[list[Hypothesis]]:
        """The best `count` finished hypotheses of each sentence, best first."""
        width = self.finished_at.size(1)

        def ids(chosen: list[list[int]], steps: int, rank: int) -> list[int]:
            tokens = []
            for step in reversed(chosen[:steps]):
                rank, token = divmod(step[rank], vocabulary)
                tokens.append(token)
            return tokens[::-1]

        finished = self.finished_at[:, :count], self.finished_score[:, :count]
        return [
            [
                Hypothesis(ids(chosen, *divmod(place, width)), score)
                for place, score in zip(places, scores, strict=True)
                if score != float("-inf")
            ]
            for chosen, places, scores in zip(*(each.tolist() for each in (self.chosen, *finished)), strict=True)
        ]


def top(logp_BWV: Tensor, alive_BW: Tensor, count: int) -> tuple[Tensor, Tensor]:
    """The `count` best continuations: log P [B, count], and their indices in a sentence's W x V.

    It searches only the `count` blocks with the largest maxima. All of the best continuations are in these blocks.
    """
    b, w, vocabulary = logp_BWV.shape
    blocks = vocabulary // BLOCK
    if vocabulary % BLOCK or count >= w * blocks:
        return (logp_BWV + alive_BW[:, :, None]).flatten(1).topk(count, 1)
    maxima = logp_BWV.unflatten(2, (blocks, BLOCK)).amax(3) + alive_BW[:, :, None]
    block = maxima.flatten(1).topk(count, 1).indices
    sentence = torch.arange(b, device=block.device)[:, None]
    values = logp_BWV.view(b, w * blocks, BLOCK)[sentence, block] + alive_BW.gather(1, block // blocks)[:, :, None]
    logp, chosen = values.flatten(1).topk(count, 1)
    return logp, block.gather(1, chosen // BLOCK) * BLOCK + chosen % BLOCK


def advance(beam: Beam, logits_BWV: Tensor, length: int, alpha: float) -> tuple[Tensor, Tensor]:
    """Append one token, the `length`-th, to every hypothesis.

    Returns, for each alive hypothesis, the index of the hypothesis that it extends [B, W] and the new token [B, W].
    """
    width, vocabulary = beam.finished_score.size(1), logits_BWV.size(2)
    # At most W of 2W candidates end, so at least W stay alive. A beam of one is greedy search.
    candidates = min(2 * width if width > 1 else 1, logits_BWV[0].numel())
    logp, flat = top(logits_BWV.log_softmax(2, dtype=torch.float32), beam.alive_logp, candidates)
    origin = flat // vocabulary
    ended = flat % vocabulary == END

    scores = torch.where(ended, logp / length_penalty(length, alpha), -torch.inf)
    beam.finished_score, chosen = torch.cat([beam.finished_score, scores], 1).topk(width, 1)
    beam.finished_at = torch.cat([beam.finished_at, origin + (length - 1) * width], 1).gather(1, chosen)

    beam.alive_logp, chosen = logp.masked_fill(ended, -torch.inf).topk(min(width, candidates), 1)
    flat = flat.gather(1, chosen)
    beam.chosen[:, length - 1, : flat.size(1)] = flat
    return origin.gather(1, chosen), flat % vocabulary


def limits(model: Network, source_BS: Tensor, extra: int) -> Tensor:
    """[B]: the longest output of each sentence: source + `extra` tokens, at most the number of learned positions."""
    limit = (source_BS != PADDING).sum(1) + extra
    last = last_position(model.config)
    return limit if last is None else limit.clamp(max=last)


@torch.inference_mode()
def beam_search(
    model: Network,
    source_BS: Tensor,
    width: int,
    alpha: float,
    extra: int,
    nbest: bool = True,
    early: bool = False,
) -> list[list[Hypothesis]]:
    """The finished hypotheses of each sentence, best first; only the best one without `nbest`.

    An output has at most source + `extra` tokens, where both counts include the end of sentence. Hypotheses that
    cannot win (with `nbest`, cannot be among the best) at any length are dropped. With `early`, a hypothesis is also
    dropped if it could not win by ending in the next step; the best one may then depend on `nbest`. Finished sentences
    stay in the batch, unchanged, until they are about an eighth of it. Then they are removed, so that the others decode
    faster.
    """
    b, device = source_BS.size(0), source_BS.device
    limit = limits(model, source_BS, extra)
    longest = int(limit.max())
    growing = model.begin(source_BS)
    beam = Beam(
        alive_logp=torch.zeros((b, 1), device=device),
        finished_score=torch.full((b, width), -torch.inf, device=device),
        finished_at=torch.zeros((b, width), dtype=torch.long, device=device),
        chosen=torch.zeros((b, longest, width), dtype=torch.long, device=device),
        limit=limit,
    )
    results: list[list[Hypothesis]] = [[] for _ in range(b)]
    sentences, tokens = list(range(b)), None
    for length in range(1, longest + 1):
        logits = growing.logits(tokens)
        origin, tokens = advance(beam, logits, length, alpha)
        at = length + 1 if early else beam.limit[:, None]
        promising = beam.promising(alpha, nbest, at) & (length < beam.limit)[:, None]
        beam.keep(promising, length, alpha)
        if length % LOOK[device.type] == 0 or length == longest:
            widths = promising.sum(1).tolist()
            # Keep the number of batch sizes small: oneDNN compiles its products anew for each size.
            unit = max(1, 1 << len(widths).bit_length() >> 4)
            size = -(-sum(map(bool, widths)) // unit) * unit
            if size < len(widths):
                order = sorted(range(len(widths)), key=lambda row: not widths[row])
                rows, done = order[:size], order[size:]
                left = beam.select(torch.tensor(done, device=device))
                for row, best in zip(done, left.hypotheses(width if nbest else 1, logits.size(2)), strict=True):
                    results[sentences[row]] = best
                if not rows:
                    break
                sentences, kept = [sentences[row] for row in rows], torch.tensor(rows, device=device)
                beam, origin, tokens = beam.select(kept), origin[kept], tokens[kept]
                growing.select(kept)
            most = max(widths)
            beam.alive_logp, origin, tokens = beam.alive_logp[:, :most], origin[:, :most], tokens[:, :most]
        growing.follow(origin)
    return results

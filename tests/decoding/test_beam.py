import itertools

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from transformer.decoding import beam
from transformer.decoding.beam import BLOCK, Beam, beam_search, length_penalty, top
from transformer.decoding.precision import in_precision
from transformer.model import cache, kernels
from transformer.model.config import ModelConfig
from transformer.model.ids import END, PADDING
from transformer.model.masks import Rows
from transformer.model.networks import network

RECURRENT = {"network": "recurrent"}
CONVOLUTIONAL = {"network": "convolutional", "positions": "learned"}
LONG = 1000  # a beam wider than there are sequences


def toy(seed=0, vocabulary=4, **changes):
    """A random model in evaluation mode."""
    sizes = {"N": 2, "d_model": 8, "d_ff": 16, "h": 2, "d_k": 3, "d_v": 5, "P_drop": 0.5, "max_length": 16}
    torch.manual_seed(seed)
    model = network(ModelConfig(**{**sizes, "positions": "sinusoidal", **changes}), vocabulary).eval()
    model.embedding.data *= 3  # makes its distributions more peaked
    return model


@torch.no_grad()
def plain_search(model, source, width, alpha, extra, early=False):
    """Beam search as the authors' code does it: of the best 2 x width continuations those that end are finished.

    `early` drops hypotheses that could not beat the worst of `width` finished ones if they ended in the next step.
    """
    alive, finished = [(0.0, [])], []
    for length in range(1, source.size(1) + extra + 1):
        read = torch.tensor([[*ids, PADDING] for _, ids in alive])
        logits = model.logits(model(Rows.of(source.expand(len(alive), -1)), Rows.of(read)))[:, -1]
        logits[:, END] += 4  # as in `ending`
        rows = zip(alive, logits.log_softmax(-1).tolist(), strict=True)
        longer = [(logp + each, [*ids, token]) for (logp, ids), row in rows for token, each in enumerate(row)]
        candidates = sorted(longer, reverse=True)[: 2 * width]
        ended = [(logp / length_penalty(length, alpha), ids[:-1]) for logp, ids in candidates if ids[-1] == END]
        finished = sorted(finished + ended, reverse=True)[:width]
        alive = [each for each in candidates if each[1][-1] != END][:width]
        if early and len(finished) == width:
            alive = [each for each in alive if each[0] / length_penalty(length + 1, alpha) > finished[-1][0]]
        if not alive:
            break
    return finished


def unending(model):
    """Make the end of sentence impossible."""
    logits = model.logits
    model.logits = lambda y: logits(y).index_fill(-1, torch.tensor([END]), -torch.inf)
    return model


def padded(*sources):
    return torch.nn.utils.rnn.pad_sequence([torch.tensor([*s, END]) for s in sources], batch_first=True)


@torch.no_grad()
def log_probability(model, source, targets):
    """log P of targets of equal length, [targets], from one forward pass over all positions."""
    target = torch.tensor(targets)
    logits = model.logits(model(Rows.of(source.expand(len(target), -1)), Rows.of(target)))
    return logits.log_softmax(-1).gather(-1, target[:, :, None]).sum((1, 2)).tolist()


def all_ended(model, source, extra, alpha):
    """Every sequence that ends within the limit, with its score, best first."""
    others = [token for token in range(model.embedding.size(0)) if token != END]
    found = []
    for length in range(1, source.size(1) + extra + 1):
        targets = [(*body, END) for body in itertools.product(others, repeat=length - 1)]
        logp = log_probability(model, source, targets)
        found += [(list(t[:-1]), p / ((5 + length) / 6) ** alpha) for t, p in zip(targets, logp, strict=True)]
    return sorted(found, key=lambda entry: -entry[1])


def greedy(model, source, extra):
    """Greedy decoding: the likeliest token at each step, up to the end of sentence or the limit."""
    ids = []
    for _ in range(source.size(1) + extra):
        with torch.no_grad():
            logits = model.logits(model(Rows.of(source), Rows.of(torch.tensor([[*ids, PADDING]]))))[0, -1]
        ids.append(int(logits.argmax()))
        if ids[-1] == END:
            break
    return ids


@pytest.mark.agreement(witness="exhaustive search")
@pytest.mark.parametrize("alpha", [0.0, 0.6, 1.0, 2.0])
@pytest.mark.parametrize("seed", range(4))
def test_a_beam_wide_enough_finds_what_brute_force_finds(seed, alpha):
    model, source = toy(seed), padded([2])
    (found,) = beam_search(model, source, LONG, alpha, 3)
    wanted = all_ended(model, source, 3, alpha)
    assert len(found) == len(wanted) == 1 + 3 + 9 + 27 + 81
    assert [h.score for h in found] == pytest.approx([score for _, score in wanted], rel=1e-4)
    scores = {tuple(ids): score for ids, score in wanted}
    assert len({tuple(h.ids) for h in found}) == len(wanted)
    assert all(h.score == pytest.approx(scores[tuple(h.ids)], rel=1e-4) for h in found)


@pytest.mark.agreement(witness="exhaustive search")
@pytest.mark.parametrize(
    "changes",
    [
        {"d_v": 3, "h": 1, "N": 1},
        {"positions": "learned"},
        {"positions": "none"},
        {"positions": "t5"},
        {"positions": "alibi"},
        {"positions": "rotary", "d_k": 4},
        {"attention": "unscaled"},
        {"attention": "additive"},
        RECURRENT,
        CONVOLUTIONAL,
    ],
)
def test_a_wide_beam_finds_what_brute_force_finds_for_other_models(changes):
    model, source = toy(5, **changes), padded([3])
    (found,) = beam_search(model, source, LONG, 0.6, 2)
    wanted = all_ended(model, source, 2, 0.6)
    assert (found[0].ids, found[0].score) == (wanted[0][0], pytest.approx(wanted[0][1], rel=1e-4))


@given(st.integers(0, 10_000), st.integers(1, 6), st.floats(0, 2))
@settings(max_examples=25)
def test_hypotheses_are_sorted_distinct_and_scored_with_their_end(seed, width, alpha):
    model, source = toy(seed, vocabulary=9), padded([3, 7, 5])
    (found,) = beam_search(model, source, width, alpha, 5)
    assert 1 <= len(found) <= width
    assert [h.score for h in found] == sorted((h.score for h in found), reverse=True)
    assert len({tuple(h.ids) for h in found}) == len(found)
    for ids, score in found:
        whole = [*ids, END] if len(ids) < 4 + 5 else ids
        (logp,) = log_probability(model, source, [whole])
        assert score == pytest.approx(logp / length_penalty(len(ids) + 1, alpha), rel=1e-4, abs=1e-5)


@pytest.mark.parametrize("changes", [{}, RECURRENT, CONVOLUTIONAL])
@given(seed=st.integers(0, 10_000), alpha=st.floats(0, 2))
@settings(max_examples=25)
def test_a_beam_of_one_is_greedy_search(changes, seed, alpha):
    model, source = toy(seed, vocabulary=9, **changes), padded([3, 7, 5])
    ids = greedy(model, source, 5)
    ((found,),) = beam_search(model, source, 1, alpha, 5)
    assert found.ids == (ids[:-1] if ids[-1] == END else ids)


def ending(model, steps):
    """Make the end of sentence likelier, and record the logits of each step."""
    logits = model.logits

    def wrapped(y):
        steps.append(logits(y) + 4 * torch.nn.functional.one_hot(torch.tensor(END), 9))
        return steps[-1]

    model.logits = wrapped
    return model


@pytest.mark.agreement(witness="tensor2tensor")
@pytest.mark.parametrize("early", [False, True])
@pytest.mark.parametrize("width", [2, 3, 4])
@pytest.mark.parametrize("alpha", [0.0, 0.6, 1.0])
def test_hypotheses_end_if_their_end_is_among_the_best_2_x_width_continuations(width, alpha, early):
    for seed in range(8):
        source = padded([3, 7, 5])
        wanted = plain_search(toy(seed, vocabulary=9), source, width, alpha, 5, early)
        model = ending(toy(seed, vocabulary=9), [])
        (found,) = beam_search(model, source, width, alpha, 5, early=early)
        assert [h.ids for h in found] == [ids for _, ids in wanted]
        assert [h.score for h in found] == pytest.approx([score for score, _ in wanted], rel=1e-4)


@pytest.mark.parametrize("alpha", [0.0, 0.6, 1.5])
def test_pruning_changes_no_result_and_an_early_stop_prunes_more(monkeypatch, alpha):
    sources = padded([3, 4, 5, 6], [7, 8], [2], [5, 5, 5])
    steps, runs = [], []

    def search(nbest, early=False):
        found = []
        for seed in range(8):
            model = ending(toy(seed, vocabulary=9), steps)
            found += beam_search(model, sources, 3, alpha, 12, nbest, early)
        runs.append((found, sum(logits.size(0) * logits.size(1) for logits in steps)))
        steps.clear()

    search(nbest=False, early=True)
    search(nbest=False)
    search(nbest=True)
    monkeypatch.setattr(Beam, "promising", lambda beam, *_: torch.ones_like(beam.alive_logp, dtype=torch.bool))
    search(nbest=True)
    (_, fewest), (best, fewer), (pruned, few), (whole, many) = runs
    assert fewest <= fewer < few < many
    assert (fewest < fewer) == (alpha > 0)
    for one, other in zip(pruned, whole, strict=True):
        assert [h.ids for h in one] == [h.ids for h in other]
        assert [h.score for h in one] == pytest.approx([h.score for h in other], rel=1e-4)
    assert [found[0].ids for found in best] == [found[0].ids for found in whole]


@pytest.mark.parametrize("changes", [{}, RECURRENT, CONVOLUTIONAL])
@pytest.mark.parametrize("nbest", [True, False])
@pytest.mark.parametrize("early", [True, False])
@pytest.mark.parametrize("extra", [2, 12])
def test_checking_seldom_for_finished_sentences_changes_nothing(monkeypatch, nbest, extra, early, changes):
    """On a GPU, finished sentences stay in the batch for some steps; they must not change."""
    sources, runs = padded([3, 4, 5, 6], [7, 8], [2], [5, 5, 5], [6, 2, 2, 8, 4]), []
    for look in (1, 3, 8):
        monkeypatch.setitem(beam.LOOK, "cpu", look)
        found = []
        for seed in range(8):
            model = ending(toy(seed, vocabulary=9, **changes), [])
            found += beam_search(model, sources, 3, 0.6, extra, nbest, early)
        runs.append(found)
    for seldom in runs[1:]:
        for one, other in zip(runs[0], seldom, strict=True):
            assert [h.ids for h in one] == [h.ids for h in other]
            assert [h.score for h in one] == pytest.approx([h.score for h in other], rel=1e-4)


@pytest.mark.parametrize("look", [1, 8])
def test_an_early_stop_drops_what_cannot_win_in_the_next_step(monkeypatch, look):
    """Token 3 could not win by ending in the second step, but would in the sixth. 2 keeps the search going."""
    tiny = 1e-9
    first, last = [tiny, 0.36, 0.35, 0.29], [tiny, 1, tiny, tiny]

    class Scripted:
        """Hypotheses whose next token has given probabilities."""

        position = -1

        def logits(self, ids):
            self.position += 1
            if ids is None:
                return torch.tensor([[first]]).log()
            after = {2: [tiny, 0.01, 0.99, tiny], 3: last if self.position == 5 else [tiny, tiny, tiny, 1]}
            return torch.tensor([[after.get(i, last) for i in row] for row in ids.tolist()]).log()

        def follow(self, _):
            """Nothing to do: only the last token and the position count."""

        select = follow

    monkeypatch.setitem(beam.LOOK, "cpu", look)
    model = toy()
    model.begin = lambda _: Scripted()
    for early, ids in ((False, [3, 3, 3, 3, 3]), (True, [])):
        ((found,),) = beam_search(model, padded([2]), 2, 1.0, 6, nbest=False, early=early)
        assert found.ids == ids


def test_each_sentence_has_its_own_limit_and_returns_its_best_alive_hypothesis_if_none_ends():
    model = unending(toy(vocabulary=20))
    sources = [[3, 4, 5, 6, 7], [8], [9, 3, 4]]
    results = beam_search(model, padded(*sources), 2, 0.6, 4)
    for source, found in zip(sources, results, strict=True):
        (only,) = found
        assert len(only.ids) == len(source) + 1 + 4
        assert END not in only.ids
        assert only.ids == beam_search(model, padded(source), 2, 0.6, 4)[0][0].ids


@pytest.mark.agreement(witness="exhaustive search")
def test_the_best_alive_hypothesis_is_the_best_of_all_unended_outputs():
    model, source = unending(toy(vocabulary=4)), padded([2])
    ((alive,),) = beam_search(model, source, LONG, 0.6, 2)
    best = max(itertools.product([0, 2, 3], repeat=4), key=lambda ids: without_end(model, source, ids))
    assert alive.ids == list(best)
    assert alive.score == pytest.approx(without_end(model, source, best) / length_penalty(5, 0.6), rel=1e-4)


@torch.no_grad()
def without_end(model, source, ids):
    """log P if the end of sentence is impossible."""
    target = torch.tensor([ids])
    logits = model.logits(model(Rows.of(source), Rows.of(target))).index_fill(-1, torch.tensor([END]), -torch.inf)
    return logits.log_softmax(-1).gather(-1, target[:, :, None]).sum().item()


def test_learned_positions_limit_the_output_length():
    model = unending(toy(vocabulary=20, positions="learned", max_length=6))
    ((alive,),) = beam_search(model, padded([3, 4, 5]), 2, 0.6, 50)
    assert len(alive.ids) == 6


@pytest.mark.parametrize("changes", [{}, RECURRENT, CONVOLUTIONAL])
@given(
    seed=st.integers(0, 1000),
    sources=st.lists(st.lists(st.integers(2, 8), min_size=1, max_size=6), min_size=2, max_size=5),
    early=st.booleans(),
)
@settings(max_examples=12)
def test_other_sentences_in_a_batch_and_their_order_change_nothing(changes, seed, sources, early):
    model = ending(toy(seed, vocabulary=9, **changes), [])
    alone = [beam_search(model, padded(source), 3, 0.6, 6, early=early)[0] for source in sources]
    for order in (range(len(sources)), range(len(sources))[::-1]):
        together = beam_search(model, padded(*(sources[i] for i in order)), 3, 0.6, 6, early=early)
        for i, found in zip(order, together, strict=True):
            # An almost certain output has a score of about -1e-3, whose rounding in float32 is more than 1e-4 of it.
            assert found[0].score == pytest.approx(alone[i][0].score, rel=1e-4, abs=1e-6)
            assert [h.score for h in found] == pytest.approx([h.score for h in alone[i]], rel=1e-4, abs=1e-6)


@pytest.mark.parametrize("vocabulary", [9, 3 * BLOCK, 3 * BLOCK + 1])
def test_the_search_in_blocks_finds_the_best_continuations_of_the_whole_vocabulary(vocabulary):
    torch.manual_seed(1)
    logp, alive = torch.randn(5, 4, vocabulary), torch.randn(5, 4)
    values, chosen = (logp + alive[:, :, None]).flatten(1).topk(8, 1)
    found = top(logp, alive, 8)
    torch.testing.assert_close(found[0], values)
    assert torch.equal(found[1], chosen)


def test_padding_the_vocabulary_to_whole_blocks_changes_nothing():
    sources = padded([3, 4, 5, 6], [7, 8], [2], [5, 5, 5])
    for seed in range(4):
        model = toy(seed, vocabulary=70)
        runs = [beam_search(each, sources, 3, 0.6, 5) for each in (model, in_precision(model, "float32"))]
        for one, other in zip(*runs, strict=True):
            assert [h.ids for h in one] == [h.ids for h in other]
            assert [h.score for h in one] == pytest.approx([h.score for h in other], rel=1e-4)


@pytest.mark.agreement(witness="other papers")
def test_the_length_penalty_is_that_of_the_paper():
    assert length_penalty(1, 0.6) == 1
    assert length_penalty(7, 1.0) == 2
    assert length_penalty(7, 0.0) == 1


@pytest.mark.parametrize("encoding", ["sinusoidal", "t5"])
def test_dropping_unread_places_of_the_cache_changes_no_result(monkeypatch, encoding):
    sources, runs, places = padded([3, 4, 5, 6], [7, 8], [2], [5, 5, 5]), [], []
    for full in (3, 10_000):
        monkeypatch.setattr(cache, "FULL", full)
        model = unending(toy(vocabulary=20, positions=encoding))
        decode = model.decode
        model.decode = lambda *given, decode=decode: places.append(given[2].shown.size(-1)) or decode(*given)
        runs.append((beam_search(model, sources, 4, 0.6, 20), max(places)))
        places.clear()
    (tidied, few), (whole, many) = runs
    assert few < many
    for one, other in zip(tidied, whole, strict=True):
        assert [h.ids for h in one] == [h.ids for h in other]
        assert [h.score for h in one] == pytest.approx([h.score for h in other], rel=1e-4)


@pytest.mark.parametrize("positions", ["sinusoidal", "t5", "alibi"])
@pytest.mark.parametrize("at_once", [1, 2, 3])
def test_sentences_that_are_encoded_in_parts_are_read_as_if_encoded_together(monkeypatch, positions, at_once):
    model, source = toy(positions=positions), padded([2, 3, 2, 3, 2, 2, 3], [3, 2, 2], [2], [], [3, 3])
    monkeypatch.setattr(kernels, "ENCODED", at_once)
    parts = model.begin(source)
    monkeypatch.setattr(kernels, "ENCODED", len(source))
    whole = model.begin(source)
    read = parts.source_mask.shown[:, 0]
    assert torch.equal(read, whole.source_mask.shown[:, 0])
    for ours, theirs in zip(parts.memory, whole.memory, strict=True):
        for one, other in zip(ours, theirs, strict=True):
            torch.testing.assert_close(one.transpose(1, 2)[read], other.transpose(1, 2)[read])

import math

import pytest
import torch
import torch.nn.functional as F

from transformer.evaluation.perplexity import perplexity
from transformer.support.files import InputError
from transformer.text.tokens import Pairs, pack, write_pairs


@pytest.mark.parametrize("batch_tokens", [1, 30, 10_000])
def test_it_is_what_a_plain_loop_gives(package, encoded, batch_tokens):
    loaded, pairs = package(), encoded("dev")
    total, count = 0.0, 0
    for i in range(len(pairs)):
        source, target = (
            torch.tensor(pairs.ids[pairs.offsets[j] : pairs.offsets[j + 1]].astype(int)) for j in (2 * i, 2 * i + 1)
        )
        with torch.no_grad():
            logits = loaded.model.logits(loaded.model(source[None], target[None]))[0]
        total += F.cross_entropy(logits.double(), target, reduction="sum").item()
        count += len(target)
    assert perplexity(loaded, pairs, batch_tokens) == pytest.approx(math.exp(total / count), rel=1e-5)


def test_a_model_that_knows_nothing_is_as_uncertain_as_its_vocabulary_is_large(package, encoded):
    loaded = package()
    loaded.model.embedding.data.zero_()
    assert perplexity(loaded, encoded("dev"), 100) == pytest.approx(loaded.config.vocabulary, rel=1e-5)


def test_a_pair_beyond_the_learned_positions_is_named(package, tmp_path):
    write_pairs(tmp_path / "dev", [pack([[5, 1], [5, 1]], [[5, 1], [5] * 30 + [1]], 40)], 40)
    with pytest.raises(InputError, match="line 2: 31 subwords, but base has learned 24 positions"):
        perplexity(package(positions="learned"), Pairs(tmp_path / "dev"), 100)


def test_when_memory_runs_out_the_setting_to_lower_is_named(package, encoded, monkeypatch):
    monkeypatch.setattr("transformer.evaluation.perplexity.batch_loss", lambda *_: torch.empty(1 << 50))
    with pytest.raises(InputError, match="perplexity by base: out of memory; lower --batch-tokens, 100 now"):
        perplexity(package(), encoded("dev"), 100)

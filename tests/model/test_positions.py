import math
from dataclasses import replace

import pytest
import torch
from pydantic import ValidationError

from transformer.model.attention import attention_weights
from transformer.model.config import BOUNDED, ENCODINGS, last_position
from transformer.model.masks import Rows
from transformer.model.positions import (
    ALiBiPositions,
    LearnedPositions,
    NoPositions,
    RotaryPositions,
    SinusoidalPositions,
    T5Positions,
    plus,
    positions,
    rotate,
    sinusoids,
    slopes,
)
from transformer.model.transformer import Transformer

RELATIVE = ("t5", "alibi", "rotary")


def draw(*shape):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(sum(shape)))


def one_sentence(length, start=0):
    """The positions [1, length] of a row with one sentence."""
    return torch.arange(start, start + length)[None]


@pytest.mark.agreement(witness="equations of the paper")
def test_sinusoids_follow_the_papers_formula():
    d_model = 12
    expected = [
        [f(position / 10000 ** (2 * i / d_model)) for i in range(d_model // 2) for f in (math.sin, math.cos)]
        for position in range(50)
    ]
    torch.testing.assert_close(sinusoids(50, d_model), torch.tensor(expected), rtol=0, atol=1e-7)


@pytest.mark.agreement(witness="equations of the paper")
def test_a_shift_of_sinusoids_is_the_same_linear_map_at_all_positions():
    table = sinusoids(40, 8).double()
    shift = torch.linalg.lstsq(table[:30], table[7:37]).solution
    torch.testing.assert_close(table[:33] @ shift, table[7:], rtol=0, atol=1e-5)


def test_the_table_of_sinusoids_grows_with_the_sentence():
    positions = SinusoidalPositions(8, 10)
    for length in (10, 25, 501):
        positions.prepare(length)
        assert torch.equal(positions.encoding(one_sentence(3, length - 3))[0], sinusoids(length, 8)[-3:])
    assert not positions.state_dict()  # they are neither learned nor saved


def test_learned_positions_are_scaled_like_embeddings():
    positions = LearnedPositions(64, 200)
    assert positions.table.std().item() == pytest.approx(1 / 8, rel=0.05)
    torch.testing.assert_close(positions.encoding(one_sentence(5, 3))[0], positions.table[3:8] * 8)


def test_padding_beyond_the_last_learned_position_is_encoded_like_it():
    positions = LearnedPositions(8, 10)
    found = positions.encoding(one_sentence(4, 8))[0]
    assert torch.equal(found[1:], found[1:2].expand(3, -1))
    assert not torch.equal(found[0], found[1])


@pytest.mark.parametrize("name", ENCODINGS)
def test_only_bounded_encodings_have_a_last_position(run_config, name):
    config = run_config(positions=name).architecture
    last = last_position(config)
    assert last == (config.max_length if name in BOUNDED else None)
    assert last_position(replace(config, max_length=7)) == (last and 7)


def t5_bucket(behind, causal):
    """The bucket of one distance by the formula in the code of Raffel et al. (2020)."""
    buckets, offset = 32, 0
    if not causal:
        buckets, offset = 16, 16 * (behind < 0)
        behind = abs(behind)
    n, exact = max(behind, 0), buckets // 2
    if n < exact:
        return offset + n
    wide = math.log(n / exact) / math.log(128 / exact) * (buckets - exact)
    return offset + min(exact + int(wide + 1e-9), buckets - 1)


@pytest.mark.agreement(witness="other papers")
@pytest.mark.parametrize("causal", [True, False])
def test_t5_buckets_equal_those_of_its_formula(causal):
    behind = torch.arange(-300, 301)
    found = T5Positions(8, 2, causal).bucket(behind).tolist()
    assert found == [t5_bucket(distance, causal) for distance in range(-300, 301)]
    assert set(found) == set(range(32)) - (set() if causal else {16})  # a key after its query never has the distance 0


@pytest.mark.agreement(witness="Hugging Face")
@pytest.mark.parametrize("causal", [True, False])
def test_t5_biases_equal_those_of_hugging_face(causal):
    t5 = pytest.importorskip("transformers.models.t5.modeling_t5")
    config = t5.T5Config(num_heads=3, d_model=12, d_kv=4, is_decoder=causal)
    theirs, ours = t5.T5Attention(config, has_relative_attention_bias=True), T5Positions(12, 3, causal)
    theirs.relative_attention_bias.weight.data = ours.table.data
    position = one_sentence(200)
    torch.testing.assert_close(ours.position_bias(position, position), theirs.compute_bias(200, 200))


@pytest.mark.agreement(witness="other papers")
def test_alibi_slopes_equal_those_of_its_authors():
    assert slopes(8) == [2**-i for i in range(1, 9)]
    assert slopes(4) == [2**-2, 2**-4, 2**-6, 2**-8]
    assert slopes(1) == [2**-8]

    def authors(n):
        """get_slopes of github.com/ofirpress/attention_with_linear_biases."""
        if math.log2(n).is_integer():
            start = 2 ** (-(2 ** -(math.log2(n) - 3)))
            return [start * start**i for i in range(n)]
        closest = 2 ** math.floor(math.log2(n))
        return authors(closest) + authors(2 * closest)[0::2][: n - closest]

    for h in range(1, 40):
        assert slopes(h) == pytest.approx(authors(h))


@pytest.mark.agreement(witness="Hugging Face")
@pytest.mark.parametrize("h", [2, 3, 12, 16])
def test_alibi_slopes_equal_those_of_hugging_faces_bloom(h):
    bloom = pytest.importorskip("transformers.models.bloom.modeling_bloom")
    alibi = bloom.build_alibi_tensor(torch.ones(1, 2, dtype=torch.long), h, torch.float32)  # slope x key position
    torch.testing.assert_close(torch.tensor(slopes(h)), alibi[:, 0, 1])


@pytest.mark.agreement(witness="other papers")
def test_rotary_positions_turn_each_pair_by_its_angle():
    encoding, x = RotaryPositions(6, 4), draw(1, 2, 9, 6)
    encoding.prepare(9)
    found = rotate(x, encoding.rotation(one_sentence(9, 3) % 9))
    for place, position in enumerate(torch.arange(3, 12) % 9):
        for pair in range(3):
            angle = float(position) / 10000 ** (2 * pair / 6)
            matrix = [[math.cos(angle), -math.sin(angle)], [math.sin(angle), math.cos(angle)]]
            wanted = x[0, :, place, 2 * pair : 2 * pair + 2] @ torch.tensor(matrix).T
            torch.testing.assert_close(found[0, :, place, 2 * pair : 2 * pair + 2], wanted)


@pytest.mark.agreement(witness="Hugging Face")
def test_rotary_positions_equal_those_of_hugging_faces_llama():
    """Llama pairs (x_i, x_(i + d/2)) and we pair (x_2i, x_(2i + 1)); only the order of a head's elements differs."""
    llama = pytest.importorskip("transformers.models.llama.modeling_llama")
    config = llama.LlamaConfig(hidden_size=24, num_attention_heads=3, head_dim=8)
    cosines, sines = llama.LlamaRotaryEmbedding(config)(torch.empty(1), one_sentence(40))
    q, k = draw(1, 3, 40, 8), draw(1, 3, 40, 8) + 1
    halves = torch.tensor([0, 2, 4, 6, 1, 3, 5, 7])
    theirs = llama.apply_rotary_pos_emb(q[..., halves], k[..., halves], cosines, sines)
    rotation = RotaryPositions(8, 40).rotation(one_sentence(40))
    torch.testing.assert_close([rotate(q, rotation)[..., halves], rotate(k, rotation)[..., halves]], list(theirs))


def scores(encoding, start, causal):
    """The attention weights in a sentence of 12 subwords whose positions begin at `start`."""
    position = one_sentence(12, start)
    q, k = draw(1, 4, 12, 6), draw(1, 4, 12, 6) + 1
    encoding.prepare(start + 12)
    rotation = encoding.rotation(position)
    mask = torch.full((12, 12), -torch.inf).triu(1) if causal else torch.zeros(12, 12)
    bias = plus(mask[None, None], encoding.position_bias(position, position))
    return attention_weights(rotate(q, rotation), rotate(k, rotation), bias, 0.5)


@pytest.mark.parametrize("causal", [True, False])
@pytest.mark.parametrize("name", ["none", *RELATIVE])
def test_relative_positions_give_the_same_weights_when_all_positions_are_shifted(run_config, name, causal):
    encoding = positions(run_config(positions=name, h=4, d_k=6).architecture, causal)
    expected = scores(encoding, 0, causal)
    torch.testing.assert_close(scores(encoding, 500, causal), expected, rtol=1e-4, atol=1e-5)
    if name != "none":
        assert not torch.allclose(scores(NoPositions(), 0, causal), expected, atol=1e-3)


@pytest.mark.parametrize("name", ENCODINGS)
@torch.no_grad()
def test_an_encoder_knows_the_order_only_by_its_positions(run_config, name):
    model = Transformer(run_config(positions=name).architecture, 40).eval()
    source, order = torch.tensor([[5, 6, 7, 8, 9]]), torch.tensor([3, 0, 4, 2, 1])
    changed, before = (model.encode(Rows.of(ids)) for ids in (source[:, order], source))
    same = torch.allclose(changed, before[:, order], atol=1e-5)
    assert same == (name == "none")


def test_positions_count_from_the_start_of_each_sentence_of_a_row():
    position = torch.tensor([[0, 1, 2, 0, 1]])
    for encoding in (T5Positions(8, 2, causal=False), ALiBiPositions(2)):
        found = encoding.position_bias(position, position)
        torch.testing.assert_close(found[..., 3:, 3:], found[..., :2, :2])


def test_rotary_positions_refuse_heads_of_odd_width(run_config):
    config = replace(run_config().architecture, d_k=3)
    with pytest.raises(ValidationError, match="3 is odd; rotary positions need pairs, so choose an even number"):
        replace(config, positions="rotary")

import math

import pytest
import torch

from transformer.model.positions import LearnedPositions, SinusoidalPositions, sinusoids


def test_sinusoids_are_the_papers_formula():
    d_model = 12
    expected = [
        [f(position / 10000 ** (2 * i / d_model)) for i in range(d_model // 2) for f in (math.sin, math.cos)]
        for position in range(50)
    ]
    torch.testing.assert_close(sinusoids(50, d_model), torch.tensor(expected), rtol=0, atol=1e-7)


def test_a_shift_is_one_linear_map_at_all_positions():
    table = sinusoids(40, 8).double()
    shift = torch.linalg.lstsq(table[:30], table[7:37]).solution
    torch.testing.assert_close(table[:33] @ shift, table[7:], rtol=0, atol=1e-5)


def test_the_table_grows_with_the_sentence():
    positions = SinusoidalPositions(8, 10)
    assert torch.equal(positions(10), sinusoids(10, 8))
    assert torch.equal(positions(25), sinusoids(25, 8))
    assert torch.equal(positions(1, 500), sinusoids(501, 8)[500:])
    assert torch.equal(positions(3, 4), sinusoids(7, 8)[4:])


def test_sinusoids_are_not_learnt_nor_saved():
    positions = SinusoidalPositions(8, 10)
    assert not list(positions.parameters())
    assert not positions.state_dict()


def test_learned_positions_are_scaled_as_embeddings_are():
    torch.manual_seed(1)
    positions = LearnedPositions(64, 200)
    assert positions.table.std().item() == pytest.approx(1 / 8, rel=0.05)
    torch.testing.assert_close(positions(5, 3), positions.table[3:8] * 8)


def test_there_is_no_learned_position_beyond_the_last():
    positions = LearnedPositions(8, 10)
    assert positions(10).shape == (10, 8)
    for length, start in ((11, 0), (1, 10)):
        with pytest.raises(ValueError, match="position 11 is beyond the 10 learnt positions"):
            positions(length, start)

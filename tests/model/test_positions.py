import math
from dataclasses import replace
from typing import get_args, get_type_hints

import pytest
import torch

from transformer.model.config import BOUNDED, ModelConfig
from transformer.model.positions import (
    ENCODINGS,
    LearnedPositions,
    SinusoidalPositions,
    last_position,
    sinusoids,
)
from transformer.model.transformer import Transformer


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


def test_the_encodings_are_those_that_a_config_can_name():
    assert sorted(ENCODINGS) == sorted(get_args(get_type_hints(ModelConfig)["positions"]))


@pytest.mark.parametrize("name", ENCODINGS)
def test_a_model_has_the_positions_that_its_config_names(run_config, name):
    model = Transformer(run_config(positions=name).architecture, 40)
    assert {type(model.source_positions), type(model.target_positions)} == {ENCODINGS[name]}


def test_an_encoding_that_there_is_not_is_named_with_those_there_are(run_config):
    config = replace(run_config().architecture, positions="nonsense")
    with pytest.raises(ValueError, match=f"unknown encoding nonsense; known: {', '.join(ENCODINGS)}"):
        Transformer(config, 40)


@pytest.mark.parametrize("name", ENCODINGS)
def test_there_is_a_last_position_where_the_encoding_has_one(run_config, name):
    config = run_config(positions=name).architecture
    last = last_position(config)
    assert last == (config.max_length if name in BOUNDED else None)
    assert last_position(replace(config, max_length=7)) == (last and 7)
    encode = ENCODINGS[name](8, 10)
    if name in BOUNDED:
        with pytest.raises(ValueError, match="beyond"):
            encode(11)
    else:
        assert len(encode(11)) == 11

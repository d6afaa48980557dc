import torch

from transformer.model.masks import MASKED, Mask, Rows

SOURCE, TARGET = Rows.of(torch.tensor([[5, 5, 1, 6, 1]])), Rows.of(torch.tensor([[7, 1, 8, 8, 1, 0, 0]]))


def test_rows_know_the_sentence_of_each_subword_and_its_position():
    assert (SOURCE.segment.tolist(), TARGET.segment.tolist()) == ([[0, 0, 0, 1, 1]], [[0, 0, 1, 1, 1, 2, 2]])
    assert (SOURCE.position.tolist(), TARGET.position.tolist()) == ([[0, 1, 2, 0, 1]], [[0, 1, 0, 1, 2, 0, 1]])


def test_a_sentence_reads_the_sentence_of_the_same_segment():
    assert Mask.of(TARGET, SOURCE).shown[0].int().tolist() == [
        *[[1, 1, 1, 0, 0]] * 2,
        *[[0, 0, 0, 1, 1]] * 3,
        *[[0, 0, 0, 0, 0]] * 2,
    ]


def test_a_causal_mask_hides_later_subwords():
    assert Mask.of(SOURCE, SOURCE, causal=True).shown[0].int().tolist() == [
        [1, 0, 0, 0, 0],
        [1, 1, 0, 0, 0],
        [1, 1, 1, 0, 0],
        [0, 0, 0, 1, 0],
        [0, 0, 0, 1, 1],
    ]


def test_the_bias_hides_what_is_not_shown_and_adds_that_of_positions():
    position_bias = torch.randn(1, 3, 7, 5)
    mask, plain = Mask.of(TARGET, SOURCE, position_bias=position_bias), Mask.of(TARGET, SOURCE)
    assert torch.equal(plain.bias == 0, plain.shown[:, None])
    assert torch.equal(plain.bias == MASKED, ~plain.shown[:, None])
    assert torch.equal(mask.bias, plain.bias + position_bias)
    assert not torch.tensor(MASKED).exp()

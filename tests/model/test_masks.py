import torch

from transformer.model.masks import HIDDEN, Mask, Rows

SOURCE, TARGET = Rows.of(torch.tensor([[5, 5, 1, 6, 1]])), Rows.of(torch.tensor([[7, 1, 8, 8, 1, 0, 0]]))


def test_rows_know_the_sentence_of_each_subword_and_its_position():
    assert (SOURCE.number.tolist(), TARGET.number.tolist()) == ([[0, 0, 0, 1, 1]], [[0, 0, 1, 1, 1, 2, 2]])
    assert (SOURCE.position.tolist(), TARGET.position.tolist()) == ([[0, 1, 2, 0, 1]], [[0, 1, 0, 1, 2, 0, 1]])


def test_a_sentence_reads_the_sentence_of_the_same_number():
    assert Mask.between(TARGET, SOURCE).shown[0].int().tolist() == [
        *[[1, 1, 1, 0, 0]] * 2,
        *[[0, 0, 0, 1, 1]] * 3,
        *[[0, 0, 0, 0, 0]] * 2,
    ]


def test_a_causal_mask_hides_later_subwords():
    assert Mask.between(SOURCE, SOURCE, causal=True).shown[0].int().tolist() == [
        [1, 0, 0, 0, 0],
        [1, 1, 0, 0, 0],
        [1, 1, 1, 0, 0],
        [0, 0, 0, 1, 0],
        [0, 0, 0, 1, 1],
    ]


def test_the_bias_hides_what_is_not_shown_and_adds_the_scores_of_positions():
    scores = torch.randn(1, 3, 7, 5)
    mask, plain = Mask.between(TARGET, SOURCE, scores=scores), Mask.between(TARGET, SOURCE)
    assert torch.equal(plain.bias == 0, plain.shown[:, None])
    assert torch.equal(plain.bias == HIDDEN, ~plain.shown[:, None])
    assert torch.equal(mask.bias, plain.bias + scores)
    assert not torch.tensor(HIDDEN).exp()

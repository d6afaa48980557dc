import pytest
import torch

from transformer.decoding.beam import Hypothesis
from transformer.decoding.search import Search, decoding
from transformer.decoding.translate import translate
from transformer.package.package import load_package


def test_log_p_of_a_subword_is_free_of_the_length_penalty():
    ids = [5, 6, 7]  # and the end of sentence
    penalty = ((5 + 4) / 6) ** 0.3
    assert Search(4, 0.3, 50).log_probability(Hypothesis(ids, -8 / penalty)) == pytest.approx(-2)
    assert Search(1, 0.3, 50, seed=1).log_probability(Hypothesis(ids, -8.0)) == -2


def test_workers_find_what_one_process_finds(save, text, translations):
    folder, lines = save(), text(7, 25)
    loaded = load_package(folder, torch.device("cpu"))
    with decoding(loaded, folder, Search(2, 0.6, 10), "float32", 2) as decode:
        assert list(translate(loaded, lines, decode, 30)) == list(translations(loaded, lines, 2, 60))

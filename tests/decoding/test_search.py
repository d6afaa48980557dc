from dataclasses import replace
from pathlib import Path

import pytest
import torch
from torch._subclasses.fake_tensor import FakeTensorMode

from transformer.decoding.beam import Hypothesis
from transformer.decoding.search import Search, decoding
from transformer.decoding.translate import translate
from transformer.package.loading import load_package
from transformer.support.files import InputError


def test_log_p_per_subword_does_not_depend_on_the_length_penalty():
    ids = [5, 6, 7]  # the end of sentence is the fourth
    penalty = ((5 + 4) / 6) ** 0.3
    assert Search(4, 0.3, 50).log_probability(Hypothesis(ids, -8 / penalty)) == pytest.approx(-2)
    assert Search(1, 0.3, 50, seed=1).log_probability(Hypothesis(ids, -8.0)) == -2


def test_several_workers_give_the_translations_of_one_process(save, text, translations):
    folder, lines = save(), text(7, 25)
    loaded = load_package(folder, torch.device("cpu"))
    with decoding(loaded, folder, Search(2, 0.6, 10), "float32", 2) as decode:
        assert list(translate(loaded, lines, decode, 30)) == list(translations(loaded, lines, 2, 60))


def test_several_workers_on_a_gpu_are_refused(package):
    loaded = package()
    with FakeTensorMode(allow_non_fake_inputs=True):
        loaded.model.embedding = torch.nn.Parameter(torch.zeros(1, device="cuda"))
    message = r"--workers 2 works on CPUs only \(one process is enough for a GPU\); leave it out, or set CUDA_VISIBLE_"
    with pytest.raises(InputError, match=message), decoding(loaded, Path(), Search(1, 0.6, 10), "float32", 2):
        pass


@pytest.mark.parametrize(("kind", "nbest"), [("translation", False), ("parsing", True)])
def test_only_a_parser_returns_its_whole_beam(package, kind, nbest):
    assert Search.of(replace(package().config, kind=kind)) == Search(3, 0.6, 10, None, nbest)

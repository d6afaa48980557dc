import random
from types import SimpleNamespace

import pytest
import torch

from transformer.decoding import translate as module
from transformer.decoding.beam import Hypothesis
from transformer.decoding.search import Search, Sentence
from transformer.decoding.translate import check_lengths, hypotheses, padded_subwords
from transformer.support.files import InputError


@pytest.fixture
def translate(translations):
    """The text of each line's best hypothesis."""

    def run(package, *options, **named):
        found = translations(package, *options, **named)
        return (package.subwords.decode([translation.hypotheses[0].ids])[0] for translation in found)

    return run


@pytest.fixture
def lines(text):
    return text(7, 25)


def test_each_line_s_translation_depends_on_that_line_alone(package, lines, translate):
    loaded = package()
    together = list(translate(loaded, lines, 2, 200))
    of = dict(zip(lines, together, strict=True))
    assert len(set(together)) > 5
    shuffled = random.Random(1).sample(lines, len(lines))
    assert list(translate(loaded, shuffled, 2, 90)) == [of[line] for line in shuffled]
    assert [next(translate(loaded, [line], 2, 1)) for line in lines[:5]] == together[:5]


@pytest.mark.parametrize(("gigabytes", "subwords", "in_bfloat16"), [(8, 8192, 8192), (80, 40960, 81920)])
def test_the_batch_size_grows_with_the_memory_of_a_gpu_but_not_of_a_cpu(monkeypatch, gigabytes, subwords, in_bfloat16):
    memory = SimpleNamespace(total_memory=gigabytes * 2**30)
    monkeypatch.setattr(torch.cuda, "get_device_properties", lambda _: memory)
    for capability in ((7, 5), (8, 0)):  # only the second multiplies bfloat16
        monkeypatch.setattr(torch.cuda, "get_device_capability", lambda _, able=capability: able)
        assert padded_subwords(torch.device("cuda", 0)) == subwords
    assert padded_subwords(torch.device("cuda", 0), "bfloat16") == in_bfloat16
    assert padded_subwords(torch.device("cpu")) == 8192


def test_empty_lines_stay_empty(package, lines, translate, translations):
    loaded = package()
    found = list(translate(loaded, ["", lines[0], "   ", "\t", lines[1], ""], 2, 200))
    assert [bool(line) for line in found] == [False, True, False, False, True, False]
    for seed in (None, 1):
        assert list(translations(loaded, [" "], 2, 200, seed)) == [(" ", [1], [Hypothesis([], 0.0)], [""])]
    assert list(translate(loaded, [], 2, 200)) == []


def test_a_sampled_output_depends_on_the_seed_and_the_line_not_on_its_batch(package, lines, monkeypatch, translate):
    loaded = package()
    drawn = list(translate(loaded, lines, 1, 200, seed=5))
    assert len({*translate(loaded, [lines[0]] * 5, 1, 200, seed=5)}) == 5
    assert list(translate(loaded, lines, 1, 200, seed=6)) != drawn
    monkeypatch.setattr(module, "LINES", 4)
    assert list(translate(loaded, lines, 1, 1, seed=5)) == drawn


def test_translation_starts_before_all_lines_are_read(package, lines, monkeypatch, translate):
    monkeypatch.setattr(module, "LINES", 4)
    loaded, taken = package(), []

    def source():
        for line in lines:
            taken.append(line)
            yield line

    stream = translate(loaded, source(), 1, 200)
    first = next(stream)
    assert len(taken) == 4
    assert [first, *stream] == list(translate(loaded, lines, 1, 10_000))


def test_a_line_beyond_the_learned_positions_is_named(package, lines, monkeypatch, translate):
    monkeypatch.setattr(module, "LINES", 4)
    loaded = package(positions="learned")
    short = [" ".join(line.split()[:3]) for line in lines[:6]]
    with pytest.raises(InputError, match=r"line 7: \d+ subwords, but base has learned 24 positions .*; split the line"):
        list(translate(loaded, [*short, "the cat " * 12], 2, 200))
    assert len(list(translate(loaded, short, 2, 200))) == 6
    check_lengths(loaded, [24])
    ((found, *_),) = Search(2, 0.6, 10)(loaded.model, [Sentence(1, [*[5] * 23, 1])])
    assert len(found.ids) <= 24


def test_batches_are_bounded_and_hold_each_sentence_once():
    sentences = [Sentence(n, [5] * length + [1]) for n, length in enumerate((1, 3, 9, 9, 2, 30, 0, 1, 4))]
    batches = []

    def decode(parts):
        batches.extend(parts)
        return ([[Hypothesis([sentence.number], 0.0)] for sentence in part] for part in parts)

    found = hypotheses(sentences, decode, 20)
    assert [best.ids for (best,) in found] == [[0], [1], [2], [3], [4], [5], [], [7], [8]]
    assert len(batches) > 3
    assert all(len(part) == 1 or len(part) * max(len(s.ids) for s in part) <= 20 for part in batches)

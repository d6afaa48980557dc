import numpy as np

from transformer.decoding.search import Search, decoding
from transformer.evaluation.bleu import counts
from transformer.evaluation.by_length import counts_by_length
from transformer.evaluation.perplexity import OfLength


def test_evenly_spaced_pairs_of_each_class_are_translated(package, text, tmp_path, translations):
    loaded, lines = package(), text(3, 10)
    lengths = np.array([3, 8, 3, 8, 3, 8, 3, 3, 99, 3])
    classes = [OfLength(1, 5, 6, 0, 2.0), OfLength(6, 9, 3, 0, 2.0), OfLength(10, 99, 1, 0, None)]
    with decoding(loaded, tmp_path, Search.of(loaded.config), "float32", 1) as decode:
        found = counts_by_length(loaded, decode, (lines, lines[::-1]), lengths, classes, 4, 100)
    assert found[2] is None  # such pairs are too long for the model
    for one, expected in zip(found, ([0, 2, 6, 7], [1, 3, 5]), strict=False):
        beam = loaded.config.decoding.beam
        made = [each.texts[0] for each in translations(loaded, [lines[i] for i in expected], beam, 100)]
        assert one == counts(made, [lines[9 - i] for i in expected])

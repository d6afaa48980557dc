from transformer.decoding.beam import Hypothesis
from transformer.decoding.parse import trees_first
from transformer.decoding.translate import Translation

TEXTS = [
    "(S XX XX XX )S",
    "(S XX XX",
    "(NP XX XX )NP",
    "",
    "(S DT NN )S",
    "(S a dog )S",
    "(NP a god )NP",
    "(NP a dog )NP",
]


def order(line, texts):
    hypotheses = [Hypothesis([text], -float(place)) for place, text in enumerate(texts)]
    found = trees_first(Translation(line, [1], hypotheses, [TEXTS[text] for text in texts]))
    assert found.texts == [TEXTS[each.ids[0]] for each in found.hypotheses]
    return [each.ids[0] for each in found.hypotheses]


def test_hypotheses_that_are_trees_over_the_words_come_first():
    assert order("a dog", range(5)) == [2, 4, 0, 1, 3]
    assert order("a big dog", range(5)) == [0, 1, 2, 3, 4]


def test_trees_with_more_words_as_leaves_come_before_those_with_fewer():
    assert order("a dog", [6, 0, 5, 1, 7, 4]) == [5, 7, 6, 4, 0, 1]


def test_hypotheses_without_trees_or_words_keep_their_order():
    assert order("a dog", [0, 1, 3]) == [0, 1, 3]
    assert order(" ", [1, 0]) == [1, 0]

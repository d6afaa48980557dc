import pytest
import torch

from transformer.evaluation.attention import weights_of_all, word_attention
from transformer.model.config import POSITIONS
from transformer.model.ids import END
from transformer.model.masks import Rows
from transformer.support.files import InputError

SENTENCE = "the well-known cat finds a zebra ."


def test_rows_are_distributions_over_words_and_the_end(package):
    found = word_attention(package(N=3), SENTENCE, 2)
    assert found.words == [*SENTENCE.split(), "<EOS>"]
    weights = torch.tensor(found.weights)
    assert weights.shape == (2, 8, 8)
    assert (weights >= 0).all()
    torch.testing.assert_close(weights.sum(-1), torch.ones(2, 8), rtol=0, atol=1e-5)


def test_each_layer_has_weights_of_its_own(package):
    loaded = package(N=2)
    assert word_attention(loaded, SENTENCE, 1).weights != word_attention(loaded, SENTENCE, 2).weights


def test_blanks_more_or_less_are_no_words(package):
    loaded = package()
    assert word_attention(loaded, "  the   cat ", 1).weights == word_attention(loaded, "the cat", 1).weights


@pytest.mark.parametrize("layer", [0, 3])
def test_a_layer_that_is_not_there_is_refused(package, layer):
    with pytest.raises(InputError, match=rf"layer {layer}: base has attention in layers 1 to 2"):
        word_attention(package(N=2), SENTENCE, layer)


@pytest.mark.parametrize(
    ("sentence", "words"),
    [
        (SENTENCE, SENTENCE.split()),
        ("\u200b the\u200bcat \u00b4 x", ["the\u200bcat", "\u00b4", "x"]),
        ("5\u00a0000 \u2026 \ufeff", ["5\u00a0000", "\u2026"]),
        ("a\ufe30b c\u2028d \x01", ["a\ufe30b", "c\u2028d"]),
        ("\ufdfa \u337f e\u0301\u0301", ["\ufdfa", "\u337f", "e\u0301\u0301"]),
        ("a \u0301b \u1112\u1161 \u11ab", ["a", "\u0301b", "\u1112\u1161", "\u11ab"]),
    ],
)
def test_to_a_word_weights_are_summed_and_from_a_word_averaged_also_where_normalisation_parts_and_drops_words(
    package, sentence, words, capsys
):
    loaded = package()
    found = word_attention(loaded, sentence, 1)
    assert found.words == [*words, "<EOS>"]
    [ids] = loaded.subwords.encode([" ".join(sentence.split(" "))])
    sizes = [len(loaded.subwords.pieces(word)) for word in words] + [1]
    assert sum(sizes) == len(ids)
    [weights] = weights_of_all(loaded.model, ids, [END])["encoder"]
    for k, part in enumerate(weights.split(sizes, -1)):
        for q, rows in enumerate(part.split(sizes, -2)):
            wanted = rows.sum(-1).mean(-1)
            torch.testing.assert_close(torch.tensor(found.weights)[:, q, k], wanted, rtol=0, atol=1e-6)
    unread = len(sentence.split(" ")) - len(words)
    assert (f"sentence 1: {unread} of" in capsys.readouterr().err) == bool(unread)


@pytest.mark.parametrize(("network", "positions"), POSITIONS.items())
def test_other_networks_are_refused(package, network, positions):
    with pytest.raises(InputError, match=f"base is a {network} network, whose encoder has no self-attention; name a T"):
        word_attention(package(network=network, N=2, positions=positions), SENTENCE, 1)


@pytest.mark.parametrize(
    "changes", [{}, {"positions": "t5"}, {"positions": "alibi"}, {"positions": "rotary"}, {"attention": "additive"}]
)
def test_the_weights_of_each_kind_are_those_that_the_layers_use(package, changes):
    model = package(N=2, **changes).model
    source, target = ([*torch.randint(3, 40, (size,)).tolist(), END] for size in (11, 9))
    weights = weights_of_all(model, source, target)
    outputs = []
    for attention in [each for each in model.modules() if hasattr(each, "attend")]:
        attention.attend.register_forward_hook(lambda _, given, output: outputs.append((given[1].values, output)))
    with torch.no_grad():
        model(Rows.of(torch.tensor([source])), Rows.of(torch.tensor([target])))
    in_turn = [
        *weights["encoder"],
        *(each for layer in zip(weights["decoder"], weights["encoder-decoder"], strict=True) for each in layer),
    ]
    assert len(outputs) == len(in_turn) == 6
    for found, (values, output) in zip(in_turn, outputs, strict=True):
        torch.testing.assert_close(found[None] @ values, output)

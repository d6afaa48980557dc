import pytest
import sentencepiece
from any_trees import TREES
from hypothesis import given
from hypothesis import strategies as st

from transformer.trees.linear import as_leaf, linearise, misread, repair, tags_of
from transformer.trees.penn import read_tree
from transformer.trees.symbols import leaves, split_words, symbols
from transformer.trees.tree import Leaf, build, tags, walk, words

JOHN = "(S (NP (NNP John)) (VP (VBZ has) (NP (DT a) (NN dog))) (. .))"
FORM = "(S (NP XX )NP (VP XX (NP XX XX )NP )VP XX )S"
TOKENS = st.lists(
    st.one_of(
        st.sampled_from(["XX", "(S", ")S", "(NP", ")NP", "(VP", ")VP", "(", ")", "", "))", "NP"]), st.text(max_size=4)
    ),
    max_size=40,
)
WORDS = st.lists(st.sampled_from(["a", "dog", ".", "(", "naïve"]), min_size=1, max_size=12)


def repaired(text, count):
    tree, changed = repair(text.split(), ["w"] * count, ["T"] * count)
    return linearise(tree), changed


@pytest.mark.agreement(witness="other papers")
def test_a_linearised_tree_has_the_published_form():
    tree = read_tree(JOHN)
    assert linearise(tree) == FORM
    assert linearise(tree, "tags") == "(S (NP NNP )NP (VP VBZ (NP DT NN )NP )VP . )S"
    assert linearise(tree, "words") == "(S (NP John )NP (VP has (NP a dog )NP )VP . )S"
    assert words(tree) == ["John", "has", "a", "dog", "."]
    assert tags(tree) == ["NNP", "VBZ", "DT", "NN", "."]


def test_symbols_are_all_tokens_of_targets_except_words():
    brackets = ["(NP", "(S", "(VP", ")NP", ")S", ")VP"]
    assert symbols(["John has a dog .", "go"], [FORM, "(S XX )S"]) == [*brackets, "XX"]
    assert symbols(["go .", "."], ["(S VB . )S", "(S . )S"]) == ["(S", ")S", ".", "VB"]
    of_words = [linearise(read_tree(JOHN), "words")] * 2
    assert symbols(["John has a dog ."] * 2, of_words) == brackets
    assert symbols([*["John has a dog ."] * 2, "John runs ."], [*of_words, "(S (NP John )NP ran )S"]) == brackets


@given(TREES, st.sampled_from(["XX", "tags", "words"]))
def test_well_formed_output_is_left_as_it_is(tree, form):
    tokens = linearise(tree, form).split(" ")
    assert repair(tokens, words(tree), tags(tree)) == (tree, False)
    written = {"XX": ["XX"] * len(words(tree)), "tags": tags(tree), "words": list(map(as_leaf, words(tree)))}
    assert leaves(tokens) == written[form]


@given(TOKENS, WORDS)
def test_any_output_becomes_a_tree_over_exactly_the_words(tokens, given_words):
    given_tags = [word.upper() for word in given_words]
    tree, changed = repair(tokens, given_words, given_tags)
    assert (words(tree), tags(tree)) == (given_words, given_tags)
    plain = ["XX" if token in leaves(tokens) else token for token in tokens]
    assert changed == (linearise(tree).split(" ") != plain)
    assert repair(linearise(tree).split(" "), given_words, given_tags) == (tree, False)


@pytest.mark.parametrize(
    ("output", "form"),
    [
        ("(S (NP XX )NP (VP XX", "(S (NP XX )NP (VP XX )VP )S"),
        ("(S (NP XX )NP (VP XX )S", "(S (NP XX )NP (VP XX )VP )S"),
        ("(S (NP XX )NP )NP (VP XX )VP )S )S", "(S (NP XX )NP (VP XX )VP )S"),
        ("XX )NP (VP XX )VP )S", "(S (NP XX )NP (VP XX )VP )S"),
        ("(NP XX )NP (VP XX )VP )SINV", "(SINV (NP XX )NP (VP XX )VP )SINV"),
        (")S )NP XX (VP XX )VP )S )S", "(S XX (VP XX )VP )S"),
        ("(S (NP XX )NP XX XX XX )S", "(S (NP XX )NP XX )S"),
        ("(S (NP XX )NP (VP XX )VP (NP XX )NP )S", "(S (NP XX )NP (VP XX )VP )S"),
        ("(VP (NP XX )NP )VP", "(VP (NP XX )NP XX )VP"),
        ("(NP XX )NP (VP XX )VP", "(S (NP XX )NP (VP XX )VP )S"),
        ("(S DT NN NN )S", "(S XX XX )S"),
        ("(S XX () XX )S", "(S XX XX )S"),
        ("", "(S XX XX )S"),
    ],
)
def test_each_kind_of_malformed_output_is_repaired(output, form):
    assert repaired(output, 2) == (form, True)


@pytest.mark.parametrize(
    ("output", "tree"),
    [
        ("(S (NP a dog )NP (VP at it )VP . )S", "(S (NP a old dog )NP (VP at it )VP . )S"),
        ("(S (NP an dog )NP (VP at it )VP . )S", "(S (NP a old dog )NP (VP at it )VP . )S"),
        ("(S (NP old dog )NP (VP at it )VP . )S", "(S (NP a old dog )NP (VP at it )VP . )S"),
        ("(S (NP a old old dog )NP (VP at it )VP . )S", "(S (NP a old dog )NP (VP at it )VP . )S"),
        ("(S (NP a old dog )NP (VP at )VP )S", "(S (NP a old dog )NP (VP at )VP it . )S"),
        ("(S (NP a old dog", "(S (NP a old dog )NP at it . )S"),
    ],
)
def test_leaves_that_are_words_are_aligned_with_the_words_of_the_sentence(output, tree):
    sentence = ["a", "old", "dog", "at", "it", "."]
    whole, changed = repair(output.split(), sentence, ["T"] * 6)
    assert (linearise(whole, "words"), changed) == (tree, True)


@given(TREES, st.data())
def test_missing_words_do_not_change_the_tree_over_the_others(tree, data):
    sentence = [f"w{number}" for number, _ in enumerate(words(tree))]
    places = iter(sentence)
    tree = build(Leaf("T", next(places)) if isinstance(item, Leaf) else item for item in walk(tree))
    kept = data.draw(st.sets(st.sampled_from(sentence), min_size=1))
    items = [item for item in linearise(tree, "words").split() if item not in sentence or item in kept]
    whole, changed = repair(items, sentence, ["T"] * len(sentence))
    assert words(whole) == sentence
    assert changed == (len(kept) < len(sentence))
    pruned = [item for item in linearise(whole, "words").split() if item not in sentence or item in kept]
    assert pruned == linearise(repair(items, [w for w in sentence if w in kept], ["T"] * len(kept))[0], "words").split()


@pytest.mark.parametrize(
    ("output", "expected"),
    [
        ("(S (NP DT NN )NP , (VP VBZ )VP . )S", ["DT", "NN", ",", "VBZ", "."]),
        ("(S (NP DT )NP , (VP VBZ )VP . )S", ["DT", "XX", ",", "VBZ", "."]),
        ("(S (NP DT JJ NN )NP , (VP VBZ )VP . )S", ["DT", "JJ", ",", "VBZ", "."]),
        ("(S (NP DT NN )NP", ["DT", "NN", "XX", "XX", "XX"]),
        ("", ["XX"] * 5),
    ],
)
def test_each_word_gets_the_tag_of_its_leaf(output, expected):
    sentence = ["the", "dog", ",", "runs", "."]
    assert tags_of(output.split(), sentence) == expected
    tree, _ = repair(output.split(), sentence, expected)
    assert tags(tree) == expected


def test_misread_counts_the_leaves_that_differ_from_their_words():
    assert [misread(text, ["a", "dog"]) for text in ("(S a dog )S", "(S a god )S", "(S XX XX )S")] == [0, 1, 2]
    assert {misread(text, ["a", "dog"]) for text in ("(S a )S", "(S a dog", "(S a a dog )S", "")} == {float("inf")}


@given(TREES)
def test_the_right_leaves_are_never_misread_after_subwords_have_normalised_them(tree):
    normal = sentencepiece.SentencePieceNormalizer(rule_name="nmt_nfkc", escape_whitespaces=False)
    output = normal.normalize(linearise(tree, "words"))
    assert misread(output, words(tree)) == 0
    assert repair(split_words(output), words(tree), tags(tree)) == (tree, False)


@pytest.mark.parametrize(
    ("word", "leaf"),
    [
        ("5\u00a0000", "5000"),
        ("a\u00b4b", "a\u0301b"),
        ("\u200b", "XX"),
        ("f(x)", "f-LRB-x-RRB-"),
        ("\u2474", "-LRB-1-RRB-"),
        ("\u00bd", "\u00bd"),
    ],
)
def test_a_word_that_subwords_would_split_or_drop_is_one_leaf(word, leaf):
    assert as_leaf(word) == leaf


@pytest.mark.parametrize("form", ["XX", "tags", "words"])
@pytest.mark.parametrize("blank", "\u00a0\u0085\u2028\u3000\x1c")
def test_a_blank_within_a_word_does_not_end_it(form, blank):
    assert split_words(f" a\t{blank} \f b{blank} ") == ["a", f"b{blank}"]
    tree = read_tree(f"(S (NP (CD 5{blank}000) (NNS dogs)) (VP (VBP sleep)))")
    line = " ".join(words(tree))
    assert split_words(line) == words(tree) == [f"5{blank}000", "dogs", "sleep"]
    output = linearise(tree, form)
    assert len(leaves(split_words(output))) == 3
    assert misread(output, split_words(line)) == (0 if form == "words" else 3)
    assert read_tree(str(tree)) == tree

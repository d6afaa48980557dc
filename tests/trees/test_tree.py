from any_trees import TREES
from hypothesis import given
from hypothesis import strategies as st

from transformer.trees.tree import Leaf, Tree, build, constituents, walk, words


def subtrees(tree):
    yield tree
    for child in tree.children:
        if isinstance(child, Tree):
            yield from subtrees(child)


@given(st.lists(TREES, max_size=3), st.integers(1, 4), st.integers(0, 8))
def test_constituents_are_all_subtrees_with_the_given_numbers_of_words_without_repeats(trees, least, more):
    expected = [each for tree in trees for each in subtrees(tree) if least <= len(words(each)) <= least + more]
    assert list(constituents(trees, least, least + more)) == list(dict.fromkeys(expected))


@given(TREES)
def test_a_walked_tree_is_built_again(tree):
    assert build(walk(tree)) == tree


def test_parentheses_in_words_are_printed_as_lrb_and_rrb():
    tree = Tree("NP", (Leaf("-LRB-", "("), Leaf("NN", "f(x)")))
    assert str(tree) == "(NP (-LRB- -LRB-) (NN f-LRB-x-RRB-))"

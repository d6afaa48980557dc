"""Hypothesis strategies for trees of any shape."""

from hypothesis import strategies as st

from transformer.trees.tree import Leaf, Tree


def trees_of(labels, leaves):
    """Trees of any shape, with these labels and leaves."""

    def constituents(children):
        return st.builds(Tree, labels, st.lists(children, min_size=1, max_size=4).map(tuple))

    return constituents(st.recursive(leaves, constituents, max_leaves=12))


LABELS = st.sampled_from(["S", "NP", "VP", "PP", "SBAR", "NP-SBJ", "PRP$", "XX"])
LEAVES = st.builds(
    Leaf,
    st.sampled_from(["DT", "NN", ".", ",", "``", "-LRB-"]),
    st.text(st.characters(exclude_categories=["C"], exclude_characters="() "), min_size=1, max_size=5).filter(
        lambda word: not word.isspace()
    ),
)
TREES = trees_of(LABELS, LEAVES)

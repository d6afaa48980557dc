"""A Hypothesis strategy for trees of any shape."""

from hypothesis import strategies as st

from transformer.trees.tree import Leaf, Tree

LABELS = st.sampled_from(["S", "NP", "VP", "PP", "SBAR", "NP-SBJ", "PRP$", "XX"])
LEAVES = st.builds(
    Leaf,
    st.sampled_from(["DT", "NN", ".", ",", "``", "-LRB-"]),
    st.text(st.characters(exclude_categories=["C", "Z"], exclude_characters="()"), min_size=1, max_size=5),
)


def tree_of(children):
    return st.builds(Tree, LABELS, st.lists(children, min_size=1, max_size=4).map(tuple))


TREES = tree_of(st.recursive(LEAVES, tree_of, max_leaves=12))

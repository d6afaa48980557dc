"""Write the parts of a corpus of trees."""

from collections.abc import Sequence
from pathlib import Path

from transformer.support.files import write_lines
from transformer.trees.linear import linearise
from transformer.trees.symbols import Leaves
from transformer.trees.tree import Tree, words


def write_trees(folder: Path, part: str, trees: Sequence[Tree], form: Leaves = "XX") -> None:
    """Write `part`.source (words) and `part`.target (linearised trees), and for dev and test also `part`.trees.

    Raises the InputErrors of `write_lines`.
    """
    write_lines(folder / f"{part}.source", (" ".join(words(tree)) for tree in trees))
    write_lines(folder / f"{part}.target", (linearise(tree, form) for tree in trees))
    if part in ("dev", "test"):
        write_lines(folder / f"{part}.trees", map(str, trees))

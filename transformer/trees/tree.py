"""Constituency trees: labelled constituents over words with part-of-speech tags."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import NamedTuple


class Leaf(NamedTuple):
    """A word under its part-of-speech tag."""

    tag: str
    word: str


@dataclass(frozen=True)
class Tree:
    """A constituent: its label and at least one child. A sentence is a Tree, never a Leaf."""

    label: str
    children: tuple["Tree | Leaf", ...]

    def __str__(self) -> str:
        """The tree in Penn brackets, on one line. Parentheses inside words become -LRB- and -RRB-."""
        text = ""
        for item in walk(self):
            if isinstance(item, Leaf):
                text += f" ({item.tag} {escaped(item.word)})"
            else:
                text += f" {item}" if item[0] == "(" else ")"
        return text[1:]


def escaped(text: str) -> str:
    """A text with -LRB- and -RRB- for parentheses, as the treebank writes them."""
    return text.replace("(", "-LRB-").replace(")", "-RRB-")


def walk(tree: Tree) -> Iterator[Leaf | str]:
    """The items of a tree from left to right: "(NP" opens a constituent, ")NP" closes it, its leaves come between."""
    pending: list[Tree | Leaf | str] = [tree]
    while pending:
        item = pending.pop()
        if isinstance(item, Tree):
            yield f"({item.label}"
            pending += [f"){item.label}", *reversed(item.children)]
        else:
            yield item


def build(items: Iterable[Leaf | str]) -> Tree:
    """The tree whose `walk` is `items`.

    Raises ValueError for no tree, several trees or an unclosed one, and IndexError for a bracket that closes nothing.
    """
    levels: list[list[Tree | Leaf]] = [[]]
    for item in items:
        if isinstance(item, Leaf):
            levels[-1].append(item)
        elif item[0] == "(":
            levels.append([])
        else:
            children = tuple(levels.pop())
            levels[-1].append(Tree(item[1:], children))
    [[tree]] = levels
    if isinstance(tree, Leaf):
        raise ValueError(f"{tree} is a leaf, not a tree")
    return tree


def words(tree: Tree) -> list[str]:
    """The words of a tree, from left to right."""
    return [item.word for item in walk(tree) if isinstance(item, Leaf)]


def tags(tree: Tree) -> list[str]:
    """The part-of-speech tags of a tree, one for each of its words."""
    return [item.tag for item in walk(tree) if isinstance(item, Leaf)]


def constituents(trees: Iterable[Tree], least: int, most: int) -> Iterator[Tree]:
    """Every constituent with `least` to `most` words, also whole trees. Of equal ones only the first is kept."""
    seen = set()
    for tree in trees:
        pending: list[Tree | Leaf] = [tree]
        while pending:
            item = pending.pop()
            if isinstance(item, Tree):
                pending += reversed(item.children)
                if least <= len(words(item)) <= most and (text := str(item)) not in seen:
                    seen.add(text)
                    yield item

"""Trees as a model writes them (section 6.3), and the repair of what it writes.

The linearised form is that of Vinyals et al., "Grammar as a Foreign Language" (2015): every bracket
carries its label, in place of every word stands XX and the words stay on the source side. In the authors' code
the part-of-speech tag stands there; where trees are few, the word itself shows a model which one is next.
"""

import math
import re
from collections.abc import Callable, Sequence
from difflib import SequenceMatcher
from itertools import islice
from pathlib import Path

from transformer.support.files import InputError
from transformer.trees.penn import read_trees
from transformer.trees.symbols import LEAF, WORD, Leaves, leaves
from transformer.trees.tree import Leaf, Tree, escaped, tags, walk, words

_SYMBOL = re.compile(r"[()][^()\s]+")
_PENN_LINE = re.compile(r"(\([^()\s]+ )+\([^()\s]+ [^()\s]+\)")


def linearise(tree: Tree, form: Leaves = "XX") -> str:
    """What the model writes: "John has a dog ." is `(S (NP XX )NP (VP XX (NP XX XX )NP )VP XX )S`."""
    texts: dict[Leaves, Callable[[Leaf], str]]
    texts = {"XX": lambda _: WORD, "tags": lambda leaf: leaf.tag, "words": lambda leaf: escaped(leaf.word)}
    return " ".join(texts[form](item) if isinstance(item, Leaf) else item for item in walk(tree))


def repair(tokens: Sequence[str], words: Sequence[str], tags: Sequence[str]) -> tuple[Tree, bool]:
    """The tree that a decoder's output means over exactly these words and tags, and whether it was repaired.

    Well-formed output is left as it is. Otherwise constituents still open when an outer one closes, or at the
    end, are closed there; a closing bracket where none is open is opened at the start, unless what it closes
    is one constituent; other closing brackets that match nothing, constituents without words and other tokens are
    dropped; without a single root all is wrapped in S. Where there are too few leaves or too many, those that are
    words (of tags the punctuation) are aligned with the sentence's: words between them go where the leaf before is,
    those before the first where it is, those after the last to the root; leaves that stand for none are dropped.
    Raises ValueError when there are no words, or not as many tags as words.
    """
    unread = iter([Leaf(tag, word) for tag, word in zip(tags, words, strict=True)])
    if not words:
        raise ValueError("a tree needs at least one word")
    taken = iter(_aligned(leaves(tokens), words))
    root: list[Tree | Leaf] = []
    levels = [("S", root)]

    def close() -> str:
        label, children = levels.pop()
        if children:
            levels[-1][1].append(Tree(label, tuple(children)))
        return label

    for token in tokens:
        if LEAF.fullmatch(token):
            levels[-1][1].extend(islice(unread, next(taken)))
        elif _SYMBOL.fullmatch(token):
            label = token[1:]
            if token[0] == "(":
                levels.append((label, []))
            elif any(label == opened for opened, _ in levels[1:]):
                while close() != label:
                    pass
            elif len(levels) == 1 and [*map(type, root)] not in ([], [Tree]):
                root[:] = [Tree(label, tuple(root))]
    while len(levels) > 1:
        close()
    top, children = levels[0]
    if len(children) == 1 and isinstance(children[0], Tree):
        top, children = children[0].label, list(children[0].children)
    tree = Tree(top, (*children, *unread))
    return tree, linearise(tree).split(" ") != [WORD if LEAF.fullmatch(token) else token for token in tokens]


def _aligned(found: Sequence[str], words: Sequence[str]) -> list[int]:
    """How many words of a sentence each leaf stands for; of 200 words and more, frequent ones are not aligned."""
    counts = [1] * len(found)
    if len(found) != len(words):
        for _, start, end, first, last in SequenceMatcher(None, found, words).get_opcodes():
            for leaf in range(start + last - first, end):
                counts[leaf] = 0
            if last < len(words):
                counts[max(end - 1, 0)] += max(0, last - first - (end - start))
    return counts


def tags_of(tokens: Sequence[str], words: Sequence[str]) -> list[str]:
    """The tag of each word in a decoder's output whose leaves are tags; XX where `repair` finds none."""
    found = leaves(tokens)
    counted = zip(found, _aligned(found, words), strict=True)
    tags = [tag for leaf, count in counted for tag in [leaf, *[WORD] * count][:count]]
    return [*tags, *[WORD] * len(words)][: len(words)]


def misread(output: str, words: Sequence[str]) -> float:
    """How many leaves in a decoder's output are not the words they stand for; infinity where there is a tree to repair.

    Raises ValueError as `repair`.
    """
    tokens = output.split()
    found = leaves(tokens)
    if len(found) != len(words) or repair(tokens, words, [WORD] * len(words))[1]:
        return math.inf
    return sum(leaf != word for leaf, word in zip(found, words, strict=True))


def read_parses(outputs: Sequence[str], gold: Path) -> list[tuple[Tree, Tree, bool]]:
    """Each tree of a file of gold trees, what the decoder's output means over its words and tags, and as `repair` says.

    Raises InputError when there are not as many outputs as gold trees, for outputs in Penn brackets, or as `read_trees`
    does.
    """
    trees = read_trees(gold)
    if any(outputs) and all(map(_PENN_LINE.match, filter(None, outputs))):
        raise InputError(f"the translations of {gold} are in Penn brackets, as of `parse`; give those of `translate`")
    if len(outputs) != len(trees):
        raise InputError(f"{gold} has {len(trees)} trees for {len(outputs)} translations; translate the same part")
    pairs = zip(trees, outputs, strict=True)
    return [(tree, *repair(output.split(), words(tree), tags(tree))) for tree, output in pairs]

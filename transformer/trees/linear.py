"""Trees as a model writes them (section 6.3), and the repair of its output.

The linearised form is that of Vinyals et al., "Grammar as a Foreign Language" (2015): every bracket carries its label,
and XX replaces every word, because the words are on the source side. The authors' code writes the part-of-speech tag
instead of XX. With few trees it helps to write the word itself, which shows the model which word comes next.
"""

import math
import re
from collections.abc import Callable, Sequence
from difflib import SequenceMatcher
from functools import lru_cache
from itertools import islice
from pathlib import Path

from transformer.support.characters import normalised
from transformer.support.files import InputError
from transformer.trees.penn import read_trees
from transformer.trees.symbols import LEAF, WORD, Leaves, leaves, split_words
from transformer.trees.tree import Leaf, Tree, escaped, tags, walk, words

_SYMBOL = re.compile(f"[()]{LEAF.pattern}")
_PENN_LINE = re.compile(rf"(\({LEAF.pattern} )+\({LEAF.pattern} {LEAF.pattern}\)")


def as_leaf(word: str) -> str:
    """A word as a leaf: the word itself, unless subwords would split it, drop it or make brackets of it."""
    normal = normalised(word)
    return word if re.fullmatch(r"[^() ]+", normal) else escaped(normal.replace(" ", "")) or WORD


@lru_cache(2**16)
def _as_written(word: str) -> str:
    """A word as a leaf that a decoder writes."""
    return normalised(as_leaf(word))


def linearise(tree: Tree, form: Leaves = "XX") -> str:
    """What the model writes: "John has a dog ." is `(S (NP XX )NP (VP XX (NP XX XX )NP )VP XX )S`."""
    texts: dict[Leaves, Callable[[Leaf], str]]
    texts = {"XX": lambda _: WORD, "tags": lambda leaf: leaf.tag, "words": lambda leaf: as_leaf(leaf.word)}
    return " ".join(texts[form](item) if isinstance(item, Leaf) else item for item in walk(tree))


def repair(tokens: Sequence[str], words: Sequence[str], tags: Sequence[str]) -> tuple[Tree, bool]:
    """Turn a decoder's output into a tree over exactly these words and tags; also returns whether it was repaired.

    Well-formed output is left as it is. Other output is repaired by these rules:
    - A constituent that is still open when an outer one closes, or at the end, is closed there.
    - A closing bracket that comes while no constituent is open closes one that began at the start of the output. If
      nothing or just one constituent came before, the bracket is dropped.
    - Other closing brackets without a match, constituents without words, and other tokens are dropped.
    - If there is no single root, everything is wrapped in S.
    - If there are more or fewer leaves than words, the leaves are aligned with the equal words of the sentence (leaves
      that are tags: with punctuation). A word without a leaf goes where the leaf before it is, or where the first
      leaf is; words after the last leaf go to the root. Leaves without a word are dropped.
    Raises ValueError when there are no words, or when the numbers of tags and words differ.
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


def _aligned(written: Sequence[str], words: Sequence[str]) -> list[int]:
    """How many words of the sentence each leaf stands for. From 200 words on, frequent words are not aligned."""
    counts = [1] * len(written)
    if len(written) != len(words):
        one, other = ([*map(_as_written, side)] for side in (written, words))
        for _, start, end, first, last in SequenceMatcher(None, one, other).get_opcodes():
            for leaf in range(start + last - first, end):
                counts[leaf] = 0
            if last < len(words):
                counts[max(end - 1, 0)] += max(0, last - first - (end - start))
    return counts


def tags_of(tokens: Sequence[str], words: Sequence[str]) -> list[str]:
    """The tag of each word, from a decoder's output whose leaves are tags; XX where `repair` finds no tag."""
    written = leaves(tokens)
    counted = zip(written, _aligned(written, words), strict=True)
    tags = [tag for leaf, count in counted for tag in [leaf, *[WORD] * count][:count]]
    return [*tags, *[WORD] * len(words)][: len(words)]


def misread(output: str, words: Sequence[str]) -> float:
    """How many leaves of a decoder's output differ from their words; infinity if the tree needs repair.

    Raises the ValueErrors of `repair`.
    """
    tokens = split_words(output)
    written = leaves(tokens)
    if len(written) != len(words) or repair(tokens, words, [WORD] * len(words))[1]:
        return math.inf
    return sum(_as_written(leaf) != _as_written(word) for leaf, word in zip(written, words, strict=True))


def read_parses(outputs: Sequence[str], gold: Path) -> list[tuple[Tree, Tree, bool]]:
    """For each tree of a file: this gold tree, the tree of the decoder's output, and whether the output was repaired.

    Raises InputError when the numbers of outputs and gold trees differ, when the outputs are in Penn brackets, and the
    InputErrors of `read_trees`.
    """
    trees = read_trees(gold)
    if any(outputs) and all(map(_PENN_LINE.match, filter(None, outputs))):
        raise InputError(
            f"the translations of {gold} are in Penn brackets, which `parse` prints; give the output of `translate`"
        )
    if len(outputs) != len(trees):
        raise InputError(
            f"{gold} has {len(trees)} trees, but there are {len(outputs)} translations; translate the same part"
        )
    pairs = zip(trees, outputs, strict=True)
    return [(tree, *repair(split_words(output), words(tree), tags(tree))) for tree, output in pairs]

"""Read trees in Penn brackets, `(S (NP (NNP John)) (VP (VBZ runs)) (. .))`: ours, one a line, and the treebank's."""

import math
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from transformer.support.files import InputError, read_lines
from transformer.trees.symbols import BLANK
from transformer.trees.tree import Leaf, Tree

TRACE = "-NONE-"  # the tag of traces, which are not words
ROOTS = ("TOP", "ROOT", "S1", "VROOT")  # labels of the bracket around a whole tree
DEEPEST = 500  # how deep the brackets of a tree may be nested
MOST = 20  # faults that one message lists
_TOKEN = re.compile(rf"\(\s*(?P<label>[^(){BLANK}]+)?|\)|[^(){BLANK}]+")
_FUNCTIONS = re.compile(r"^([^-][^-=]*)[-=].*")


class _Word(NamedTuple):
    place: int  # its index in the text
    text: str


class _Bracket(NamedTuple):
    place: int
    label: str
    children: list["_Bracket | _Word"]


class _FaultError(ValueError):
    """A text is not a tree; `place` is the index in the text where it goes wrong."""

    def __init__(self, place: int, message: str):
        super().__init__(message)
        self.place = place


class TreesError(InputError):
    """All faults of gold trees, each with its file and line; the message lists the first MOST of them."""

    def __init__(self, faults: Sequence[str]):
        more = [f"and {len(faults) - MOST:,} more"] * (len(faults) > MOST)
        head = [f"the trees have {len(faults):,} faults:"] * (len(faults) > 1)
        super().__init__("\n  ".join([*head, *faults[:MOST], *more]))
        self.faults = faults


def _brackets(text: str, deepest: float = math.inf) -> Iterator[_Bracket]:
    """The outermost brackets of a text.

    Raises _FaultError for NUL, for text outside of brackets, and for brackets that are unbalanced or nested too deep.
    """
    opened: list[_Bracket] = []
    for match in _TOKEN.finditer(text):
        place, token = match.start(), match[0]
        if "\0" in token:
            raise _FaultError(place, "a NUL character, as in damaged files; repair the file")
        if token[0] == "(":
            if len(opened) == deepest:
                fault = f"the tree that begins here is nested more than {DEEPEST} deep; remove it"
                raise _FaultError(opened[0].place, fault)
            bracket = _Bracket(place, match["label"] or "", [])
            if opened:
                opened[-1].children.append(bracket)
            opened.append(bracket)
        elif token.isspace():  # other blanks than ASCII's, by themselves
            continue
        elif not opened:
            raise _FaultError(place, f"{token!r} stands outside of a tree; remove it, or a bracket before it")
        elif token == ")":
            bracket = opened.pop()
            if not opened:
                yield bracket
        else:
            opened[-1].children.append(_Word(place, token))
    if opened:
        start = opened[-1].place
        begin = " ".join(text[start : start + 20].split())
        raise _FaultError(start, f"the bracket that begins here, {begin!r}, is not closed; add a )")


def _tree(outermost: _Bracket, treebank: bool) -> Tree:
    """The tree of a bracket; if `treebank`, without what `read_mrg` removes. Raises _FaultError with the remedy."""
    levels: list[list[Tree | Leaf]] = [[]]
    pending: list[_Bracket | str] = [outermost]
    while pending:
        item = pending.pop()
        if isinstance(item, str):  # the label of a constituent whose children have been read
            children = tuple(levels.pop())
            if children:
                levels[-1].append(Tree(item, children))
            continue
        place, label, inside = item
        words = [child for child in inside if isinstance(child, _Word)]
        if blank := next(filter(str.isspace, label), None):
            raise _FaultError(place, f"the label {label!r} has a blank, U+{ord(blank):04X}; write an ordinary blank")
        if not inside:
            raise _FaultError(place, f"({label}) holds nothing; remove it")
        if not label and (words or not treebank or item is not outermost):
            texts = [word.text for word in words]
            raise _FaultError(place, f"({' '.join([*texts, '...'])}) has no label; write (LABEL ...) or (TAG word)")
        if words and len(inside) > 1:
            [first, *_] = words
            raise _FaultError(first.place, f"{first.text!r} in ({label} ...) has no tag; write (TAG {first.text})")
        if not words:
            kept = (_FUNCTIONS.sub(r"\1", label) or ROOTS[0]) if treebank else label
            pending += [kept, *(child for child in reversed(inside) if isinstance(child, _Bracket))]
            levels.append([])
        elif label != TRACE or not treebank:
            levels[-1].append(Leaf(label, words[0].text))
    if not levels[0]:
        raise _FaultError(outermost.place, "the tree that begins here has no words; remove it")
    [tree] = levels[0]
    if isinstance(tree, Leaf):
        raise _FaultError(
            outermost.place, f"({tree.tag} {tree.word}) is a tag without a constituent; write (S (TAG word))"
        )
    while treebank and tree.label.upper() in ROOTS:
        [child, *others] = tree.children
        if others or isinstance(child, Leaf):
            return Tree(ROOTS[0], tree.children)
        tree = child
    return tree


def read_tree(line: str) -> Tree:
    """The one tree of a line.

    Raises InputError with the column, counted from 1, of the fault: a bracket that is not closed, closes nothing, holds
    nothing or has no label; a word without a tag, or a tag without a constituent; NUL; text after the tree; no tree.
    """
    try:
        trees = list(_brackets(line))
        if not trees:
            raise _FaultError(0, "there is no tree on this line; write (S (TAG word) ...)")
        if trees[1:]:
            raise _FaultError(trees[1].place, "there is text after the tree; write one tree a line")
        return _tree(trees[0], treebank=False)
    except _FaultError as fault:
        raise InputError(f"column {fault.place + 1}: {fault}") from None


def read_trees(path: Path) -> list[Tree]:
    """The trees of a file, one a line. Raises TreesError: all InputErrors of `read_tree`, with file and line."""
    trees, faults = [], []
    for number, line in enumerate(read_lines(path), start=1):
        try:
            trees.append(read_tree(line))
        except InputError as error:
            faults.append(f"{path}, line {number}, {error}")
    if faults:
        raise TreesError(faults)
    return trees


def read_mrg(name: str, text: str, first: int = 1) -> Iterator[Tree]:
    """The trees of a .mrg file, in the form in which parsers are trained on them.

    `text` is the content of the file, from its line `first` on. This function removes
    - traces: words with the tag -NONE-, and constituents that hold nothing else;
    - functions and indices of labels: NP-SBJ-1 and NP=2 become NP, while -LRB- and ADVP|PRT stay;
    - outer brackets that have no label or one of ROOTS, in capitals or not. One that holds several constituents or a
      word becomes TOP, which EVALB does not count.
    Unary chains stay, even X over X, because EVALB counts both. Words stay unchanged, also -LRB- and 1\\/2.

    Raises TreesError at the end, with the file's `name` and the line of each fault: the faults of `read_tree`, a tree
    without words, and a tree nested more than DEEPEST deep. Nothing is read after brackets that are unbalanced.
    """
    faults: list[_FaultError] = []
    try:
        for outermost in _brackets(text, DEEPEST):
            try:
                yield _tree(outermost, treebank=True)
            except _FaultError as fault:
                faults.append(fault)
    except _FaultError as fault:
        faults.append(fault)
    if faults:
        raise TreesError([f"{name}, line {text.count(chr(10), 0, fault.place) + first}: {fault}" for fault in faults])


def is_failed(text: str) -> bool:
    """Whether a parser's line has balanced brackets but no constituent with words: it could not parse the sentence.

    Such lines are the empty one, `(())`, `(ROOT)`, `(TOP NONE)`, `(TOP (S (-NONE- *)))` and `FAIL`.
    """
    depth = 0
    for match in _TOKEN.finditer(re.sub(rf"\(\s*{TRACE}\s[^()]*\)", "", text)):
        if match[0] == ")":
            depth -= 1
        elif match[0][0] == "(":
            depth += 1
        elif depth > 1 and not match[0].isspace():
            return False
        if depth < 0:
            return False
    return depth == 0

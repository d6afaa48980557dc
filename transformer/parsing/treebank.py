"""The Penn Treebank as a parsing corpus, and plain English tokenised as the treebank is."""

import hashlib
import heapq
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path, PurePosixPath
from tempfile import TemporaryDirectory

from nltk.tokenize import TreebankWordTokenizer
from nltk.tokenize.sexpr import SExprTokenizer
from nltk.tree import Tree as Expression

from transformer.config import Treebank
from transformer.data.corpora import PARTS, write_record
from transformer.data.fetch import local_path
from transformer.data.reading import Location, members
from transformer.files import InputError, read_lines, stream_lines
from transformer.parsing.trees import TRACE, Leaf, Tree, constituents, write_trees

ROOTS = ("TOP", "ROOT")
_FUNCTIONS = re.compile(r"^([^-][^-=]*)[-=].*")
_SYMBOL = r"[^()\t-\r ]+"  # of ASCII's white space only: words may hold a no-break space
_PENN = str.maketrans(
    {"“": "``", "„": "``", "«": "``", "”": "''", "»": "''", "‘": "`", "’": "'"}
    | {"–": "--", "—": "--", "…": "...", "/": r"\/", "*": r"\*"}
)


def _tree(text: str) -> Tree:
    """The tree of one bracketed expression; see `read_mrg`. Raises ValueError, which says how to mend it."""
    if text[0] != "(":
        raise ValueError(f"{' '.join(text[:20].split())!r} stands outside of a tree; remove it, or a bracket before it")
    if text.count("(") != text.count(")"):
        raise ValueError(f"the tree that begins here, {' '.join(text[:20].split())!r}, is not closed; add a )")
    levels: list[list[Tree | Leaf]] = [[]]
    pending = [Expression.fromstring(text, node_pattern=_SYMBOL, leaf_pattern=_SYMBOL)]
    while pending:
        item = pending.pop()
        if isinstance(item, str):  # the label of a constituent whose children are read
            children = tuple(levels.pop())
            if children:
                levels[-1].append(Tree(item, children))
            continue
        label = item.label()
        strings = [child for child in item if isinstance(child, str)]
        if not item:
            raise ValueError(f"({label}) holds nothing; remove it")
        if not label and (strings or len(levels) > 1):
            raise ValueError(f"({' '.join([*strings, '...'])}) has no label; write (LABEL ...) or (TAG word)")
        if strings and len(item) > 1:
            raise ValueError(f"{strings[0]!r} in ({label} ...) has no tag; write (TAG {strings[0]})")
        if not strings:
            pending += [_FUNCTIONS.sub(r"\1", label) or ROOTS[0], *reversed(item)]
            levels.append([])
        elif label != TRACE:
            levels[-1].append(Leaf(label, strings[0]))
    if not levels[0]:
        raise ValueError(f"the tree {' '.join(text[:20].split())!r} has no words; remove it")
    [tree] = levels[0]
    if isinstance(tree, Leaf):
        raise ValueError(f"({tree.tag} {tree.word}) is a tag without a constituent; write (S (TAG word))")
    while tree.label in ROOTS and len(tree.children) == 1 and isinstance(tree.children[0], Tree):
        tree = tree.children[0]
    return tree


def read_mrg(name: str, text: str, first: int = 1) -> Iterator[Tree]:
    """The trees of a .mrg file, as parsers are trained on them: `text` is its content, or that from line `first` on.

    Traces go (-NONE-, and constituents that hold nothing else), functions and indices of labels (NP-SBJ-1 and
    NP=2 are NP; -LRB- and the alternative ADVP|PRT stay), and the outer bracket, without label, TOP or ROOT;
    one without label that holds several constituents is TOP, which EVALB leaves out. Unary chains stay, also
    those of X over X: EVALB counts both. Words stay as they are, -LRB- and 1\\/2 too.

    Raises InputError naming the file, `name`, and the line where a tree begins, or text outside of trees: for a tree
    that is not closed, nested more than nltk's 500 deep or without words, an empty bracket, a missing label or tag.
    """
    end = 0
    for expression in filter(None, map(str.strip, SExprTokenizer(strict=False).tokenize(text))):
        start = text.index(expression, end)
        end = start + len(expression)
        line = text.count("\n", 0, start) + first
        try:
            tree = _tree(expression)
        except ValueError as error:
            raise InputError(f"{name}, line {line}: {error}") from None
        yield tree


def read_treebank(folder: Path, first: int, last: int) -> list[Tree]:
    """The trees of the files wsj_NNNN.mrg, first <= NNNN <= last, anywhere below `folder`, by their numbers.

    Raises InputError when a section (two digits of NNNN) has none, when two have one number, and as `read_mrg` does.
    """
    files: dict[int, Path] = {}
    for path in sorted(folder.rglob("*")):
        match = re.fullmatch(r"wsj_(\d{4})\.mrg", path.name, re.IGNORECASE)
        if match and first <= (number := int(match[1])) <= last:
            if number in files:
                raise InputError(
                    f"{folder}: {files[number]} and {path} are both file {number:04}; "
                    "set trees of the corpus to a folder that holds one treebank"
                )
            files[number] = path
    if missing := {f"{number // 100:02}" for number in range(first, last + 1)} - {f"{n // 100:02}" for n in files}:
        sections = f"no wsj_SSNN.mrg of section {', '.join(sorted(missing))} below it"
        found = sections if folder.is_dir() else "no such folder"
        raise InputError(
            f"{folder}: {found}; set trees of the corpus to the folder of the sections, 00/wsj_0001.mrg to "
            "24/wsj_2454.mrg (parsed/mrg/wsj in Treebank-3), or of nltk's sample, combined/wsj_0001.mrg to wsj_0199.mrg"
        )
    return [tree for _, path in sorted(files.items()) for tree in read_mrg(str(path), "\n".join(read_lines(path)))]


@contextmanager
def _folder_of(trees: str, downloads: Path) -> Iterator[Path]:
    """The folder that a location names; where it lies in an archive, a temporary one with a copy of its files."""
    location = Location.parse(trees)
    if location.member is None:
        yield Path(location.file)
        return
    archive = downloads / local_path(location.file) if "://" in location.file else Path(location.file)
    with TemporaryDirectory(prefix="transformer-") as folder:
        for name, open_member in members(str(archive)):
            if name.startswith(f"{location.member}/") and name.endswith(".mrg"):
                with open_member() as stream:
                    Path(folder, PurePosixPath(name).name).write_bytes(stream.read())
        yield Path(folder)


def _counts(sizes: Mapping[str, int]) -> str:
    return ", ".join(f"{size} {part}" for part, size in sizes.items())


def write_corpus(corpus: Treebank, downloads: Path, folder: Path, *, name: str, source: str, target: str) -> None:
    """Write {train,dev,test}.{source,target}, {dev,test}.trees and corpus.json; `downloads` holds what URLs gave.

    Sources are words, targets linearised trees, `.trees` Penn brackets. To the trees of train their `constituents` are
    added where the corpus says of how many words. Raises InputError as `read_treebank` does, and when a part has
    another number of trees than the corpus says.
    """
    with _folder_of(corpus.trees, downloads) as trees:
        parts = {part: read_treebank(trees, *getattr(corpus, part)) for part in PARTS}
    sizes = {part: len(trees) for part, trees in parts.items()}
    if sizes != corpus.sentences:
        raise InputError(
            f"corpora.{name}: {corpus.trees} has {_counts(sizes)} trees, not {_counts(corpus.sentences)}; "
            "copy the treebank again, or correct `trees` and `sentences`"
        )
    if corpus.constituents:
        parts["train"] = [*parts["train"], *constituents(parts["train"], *corpus.constituents)]
    sizes = {part: len(trees) for part, trees in parts.items()}
    for part, chosen in parts.items():
        write_trees(folder, part, chosen, corpus.leaves)
    write_record(folder, sizes, {}, corpus, name=name, source=source, target=target, leaves=corpus.leaves)


def tokenise(line: str) -> list[str]:
    """The words of English text as the Penn Treebank writes them: do n't, `` '' for quotes, -LRB-, --, 1\\/2."""
    return TreebankWordTokenizer().tokenize(line.translate(_PENN), convert_parentheses=True)


def plain_sentences(path: Path, count: int, words: tuple[int, int], seed: int) -> list[str]:
    """So many sentences, all different, of words[0] to words[1] words (`tokenise`), from a text of a sentence a line.

    Drawn by `seed`; every different line is as likely as any other, however often it comes. One pass, which
    holds the sentences drawn and no more of the text. Raises InputError when there are fewer, and as
    `stream_lines` does.
    """
    drawn: list[tuple[int, str]] = []  # a heap, the highest lot, negated, first
    sentences: set[str] = set()
    key = str(seed).encode()
    for line in stream_lines(path):
        lot = -int.from_bytes(hashlib.blake2b(line.encode(), digest_size=8, key=key).digest())
        if (len(drawn) == count and lot <= drawn[0][0]) or len(line.split()) > words[1]:
            continue
        tokens = tokenise(line)
        sentence = " ".join(tokens)
        if words[0] <= len(tokens) <= words[1] and sentence not in sentences:
            heapq.heappush(drawn, (lot, sentence))
            sentences.add(sentence)
            if len(drawn) > count:
                sentences.remove(heapq.heappop(drawn)[1])
    if len(drawn) < count:
        raise InputError(
            f"{path}: {len(drawn)} different sentences of {words[0]} to {words[1]} words, not {count}; "
            "ask for fewer or allow other lengths"
        )
    return [sentence for _, sentence in sorted(drawn, reverse=True)]

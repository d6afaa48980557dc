"""Parsing (section 6.3): translations into brackets, of which those that are trees come first, and their trees."""

from transformer.decoding.translate import Translation
from transformer.package.package import Package
from transformer.trees.linear import misread, repair, tags_of
from transformer.trees.symbols import WORD
from transformer.trees.tree import Tree


def trees_first(package: Package, translation: Translation) -> Translation:
    """A parser's translation, the hypotheses that are trees over the words of the line before the others.

    So the best tree of a whole beam (`Search.nbest`) is its output, and only where there is none is one repaired.
    Trees with fewer leaves that are not their words come first.
    """
    words = translation.line.split()
    if not words:
        return translation
    texts = package.subwords.decode([hypothesis.ids for hypothesis in translation.hypotheses])
    faults = [misread(text, words) for text in texts]
    order = sorted(range(len(texts)), key=faults.__getitem__)
    return translation._replace(hypotheses=[translation.hypotheses[i] for i in order])


def tree_of(package: Package, translation: Translation) -> tuple[Tree, bool] | None:
    """The tree of a parser's first hypothesis, and whether it was repaired (`repair`).

    Nothing for a line without words. Tags are those that the parser writes, if it does, else XX.
    """
    words = translation.line.split()
    if not words:
        return None
    [output] = package.subwords.decode([translation.hypotheses[0].ids])
    tokens = output.split()
    tagged = package.config.corpus.get("leaves") == "tags"
    return repair(tokens, words, tags_of(tokens, words) if tagged else [WORD] * len(words))

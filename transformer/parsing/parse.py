"""Parses: translations into brackets, of which those that are trees come first."""

from collections.abc import Sequence

from transformer.decoding.translate import Translation
from transformer.package import Package
from transformer.parsing.trees import is_tree, leaves


def trees_first(package: Package, translation: Translation) -> Translation:
    """A parser's translation, the hypotheses that are trees over the words of the line before the others.

    So the best tree of a whole beam (`Search.nbest`) is its output, and only where there is none is one repaired.
    Trees whose leaves are more of the words themselves come first.
    """
    words = translation.line.split()
    if not words:
        return translation
    texts = package.subwords.decode([hypothesis.ids for hypothesis in translation.hypotheses])
    ranks = [_rank(text, words) for text in texts]
    order = sorted(range(len(texts)), key=ranks.__getitem__)
    return translation._replace(hypotheses=[translation.hypotheses[i] for i in order])


def _rank(text: str, words: Sequence[str]) -> tuple[bool, int]:
    """What to sort by: trees first, and of these the ones with fewer leaves that are not their words."""
    if not is_tree(text, words):
        return True, 0
    return False, sum(leaf != word for leaf, word in zip(leaves(text.split()), words, strict=True))

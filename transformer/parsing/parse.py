"""Parses: translations into brackets, of which those that are trees come first."""

from transformer.decoding.translate import Translation
from transformer.package import Package
from transformer.parsing.trees import is_tree


def trees_first(package: Package, translation: Translation) -> Translation:
    """A parser's translation, the hypotheses that are trees over the words of the line before the others.

    So the best tree of a whole beam (`Search.nbest`) is its output, and only where there is none is one repaired.
    """
    words = translation.line.split()
    if not words:
        return translation
    texts = package.subwords.decode([hypothesis.ids for hypothesis in translation.hypotheses])
    broken = [not is_tree(text, words) for text in texts]
    order = sorted(range(len(texts)), key=broken.__getitem__)
    return translation._replace(hypotheses=[translation.hypotheses[i] for i in order])

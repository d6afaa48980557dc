"""Parses: translations into brackets, of which those that are trees come first."""

from transformer.decoding.translate import Translation
from transformer.package import Package
from transformer.parsing.trees import misread


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

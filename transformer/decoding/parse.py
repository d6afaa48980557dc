"""Parsing (section 6.3): translations into brackets, of which those that are trees come first, and their trees."""

from transformer.decoding.translate import Translation
from transformer.trees.linear import misread, repair, tags_of
from transformer.trees.symbols import WORD
from transformer.trees.tree import Tree


def trees_first(translation: Translation) -> Translation:
    """A parser's translation, the hypotheses that are trees over the words of the line before the others.

    So the best tree of a whole beam (`Search.nbest`) is its output, and only where there is none is one repaired.
    Trees with fewer leaves that are not their words come first.
    """
    words = translation.line.split()
    if not words:
        return translation
    faults = [misread(text, words) for text in translation.texts]
    order = sorted(range(len(faults)), key=faults.__getitem__)
    return translation._replace(
        hypotheses=[translation.hypotheses[i] for i in order], texts=[translation.texts[i] for i in order]
    )


def tree_of(translation: Translation, tagged: bool) -> tuple[Tree, bool] | None:
    """The tree of a parser's first hypothesis, and whether it was repaired (`repair`).

    Nothing for a line without words. Tags are those that the parser writes, where it is `tagged`, else XX.
    """
    words = translation.line.split()
    if not words:
        return None
    tokens = translation.texts[0].split()
    return repair(tokens, words, tags_of(tokens, words) if tagged else [WORD] * len(words))

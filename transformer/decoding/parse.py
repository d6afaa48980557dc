"""Parsing (section 6.3): choose the hypotheses that are trees, and read the trees from them."""

from transformer.decoding.translate import Translation
from transformer.trees.linear import misread, repair, tags_of
from transformer.trees.symbols import WORD, split_words
from transformer.trees.tree import Tree


def trees_first(translation: Translation) -> Translation:
    """A parser's translation, sorted so that hypotheses that are trees over the line's words come first.

    Its output is then the best tree in the whole beam (`Search.nbest`); a hypothesis is repaired only if none is a
    tree. Among trees, those with fewer leaves that differ from the words come first.
    """
    words = split_words(translation.line)
    if not words:
        return translation
    faults = [misread(text, words) for text in translation.texts]
    order = sorted(range(len(faults)), key=faults.__getitem__)
    return translation._replace(
        hypotheses=[translation.hypotheses[i] for i in order], texts=[translation.texts[i] for i in order]
    )


def tree_of(translation: Translation, tagged: bool) -> tuple[Tree, bool] | None:
    """The tree of a parser's first hypothesis, and whether it was repaired (`repair`). None for a line without words.

    Tags are the parser's own if it writes tags (`tagged`), else XX.
    """
    words = split_words(translation.line)
    if not words:
        return None
    tokens = split_words(translation.texts[0])
    return repair(tokens, words, tags_of(tokens, words) if tagged else [WORD] * len(words))

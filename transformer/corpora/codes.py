"""Which inline codes of translation memories stand for a blank: line breaks, tabs, the borders of paragraphs."""

import html
import re
from functools import lru_cache

# Elements of HTML, TMX, XLIFF and office programs that separate words. XLIFF's cp is a control character.
_ELEMENTS = (
    "address|article|aside|blockquote|br|caption|cb|cp|cr|d[dlt]|div|figcaption|figure|footer|h[1-6]|header|hr|lb|li|"
    "line-break|main|nav|[ou]l|option|p|para|pb|pre|section|tab|table|t[dhr]|text:s"
)
_WORDS = r"(?:line|page|column|soft|hard)?[-_ ]?(?<!no.)break|new[-_ ]?line|paragraph|(?:white)?space|nbsp"
_BREAK = re.compile(
    rf"(?:^|[^a-z])(?:{_ELEMENTS}|{_WORDS})$"  # a type: lb, xlf:lb, x-html-br, LINE_BREAK
    rf"|</?(?:[\w.-]+:)??(?:{_ELEMENTS})(?![\w-])"  # a tag
    r"|\\(?:[nrt]|line|page|par|tab)(?![a-z])"  # an escape of C or RTF
    r"|[\[{](?:br|lb|nl|tab)\b|[↵⏎¶⇥]",
    re.IGNORECASE,
)


@lru_cache(1024)
def stands_for_blank(said: str) -> bool:
    """Whether what a code says of itself (its element, type or content) means that words end there."""
    text = html.unescape(said)
    return bool(_BREAK.search(text)) or re.sub("<[^>]*>", "", text).isspace()

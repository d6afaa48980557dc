"""Tell markup at the head of a text from plain text that begins with <."""

import codecs
import re
from pathlib import Path

from transformer.support.files import InputError, opened

HEAD = 2**17  # bytes; they show whether a file begins with markup

# Elements with which a line of text may begin: those of HTML and XLIFF in a text, and symbols of vocabularies.
_IN_TEXT = re.compile(
    "a|abbr|b|big|br|cite|code|del|div|em|font|h[1-6]|i|img|ins|kbd|label|li|mark|p|pre|q|s|samp|small|span|strike|"
    "strong|su[bp]|t[dht]|u|var|bx|ex|bpt|ept|g|it|mrk|pc|ph|x|unk|pad|bos|eos|sep|cls|mask"
)
_DECLARATION = re.compile(r"<(?:\?[a-z]|!--|!\[|![a-z])[^\n]*", re.IGNORECASE)
_TAG = re.compile(
    r"""<(?P<name>[a-z][\w:.-]*)(?P<attributes>(?:\s+[\w:.-]+\s*=\s*(?:"[^"]*"|'[^']*'|[^\s"'<>]+))*)\s*/?>""",
    re.IGNORECASE,
)


def markup(head: bytes) -> str:
    """The markup with which a text begins. Empty if it is plain text, such as "<3 you", "<b>No</b>" or "<unk> is".

    Markup is a declaration, a comment, and a tag that is not one of a text or has a line for itself. Such a tag has
    attributes or an end, or another tag follows.
    """
    text = head.removeprefix(codecs.BOM_UTF8).decode(errors="replace").lstrip()
    if declaration := _DECLARATION.match(text):
        return declaration[0]
    if not (tag := _TAG.match(text)):
        return ""
    name, rest = re.escape(tag["name"].lower()), text[tag.end() :].lower()
    line = rest.partition("\n")[0].strip()
    before_another = re.match(rf"\s*<[!?/]?(?!{name}\b)[a-z]", rest)
    if line:
        has_more = before_another and (tag["attributes"] or re.search("</|=", line))
        found = not _IN_TEXT.fullmatch(tag["name"].lower()) and (has_more or re.search(rf"</{name}\s*>$", line))
    else:
        found = tag["attributes"] or re.search(f"</{name}" if not before_another else "</", rest)
    return tag[0] if found else ""


def check_plain(path: Path) -> None:
    """Raises InputError for a file that begins with markup, such as a set of WMT or IWSLT: its tags are no text."""
    with opened(path) as stream:
        found = " ".join(markup(stream.read(HEAD)).split())
    if found:
        raise InputError(f"{path}: begins with markup, {found[:40]}; give its segments, one a line, as `corpus` writes")

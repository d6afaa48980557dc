"""Read dev and test sets of NIST, WMT and IWSLT. They are SGML or XML, of which they use little.

A parser of HTML does not fit: it reads no markup after <script>, <title> and the like in a text.
"""

import html
import re
from collections.abc import Iterable
from html.entities import html5
from typing import NoReturn

from transformer.support.files import InputError

_ATTRIBUTES = r"""(?:[^"'<>]|"[^"<]*"|'[^'<]*')*"""
_NAME_ENDS = r"(?![\w.:-])"
_ATTRIBUTE = re.compile(r"""([^\s=/"']+)\s*=\s*(?:"([^"]*)"|'([^']*)'|([^\s"']+))""")
# Comments, the tags of documents, sides and segments, and the beginnings of other markup but start tags.
_MARKUP = re.compile(
    rf"<!--.*?-->|<(?P<tag>doc|seg|src|ref|hyp){_NAME_ENDS}(?P<attributes>{_ATTRIBUTES})>|(?P<end></\s*seg\s*>)"
    rf"|(?P<endless><!--|<(?:doc|seg){_NAME_ENDS})|<[!?/]",
    re.DOTALL | re.IGNORECASE,
)
_TAG_OR_REFERENCE = re.compile(rf"<[a-z]{_ATTRIBUTES}>|&(#[0-9]{{1,9}}|#x[\da-f]{{1,9}}|\w+);", re.IGNORECASE)

_REPLACEMENT = re.compile("#(x0*fffd|0*65533)", re.IGNORECASE)


def read_segments(name: str, lines: Iterable[str]) -> dict[str, dict[str, str]]:
    """The segments of a set, by language, or "" if the set does not say it: a segment's document and id -> its text.

    WMT's XML since 2021 has all languages in one file. Of several references in a language, the first is taken.
    References such as &amp; become characters. Start tags other than <doc> and <seg> are text and stay. Runs of ASCII
    white space become one blank, and are removed at both ends. Raises InputError with `name` and the line when other
    markup is in a segment, and when a segment has no id, beginning or end, or comes twice.
    """
    text = "\n".join(lines)
    segments: dict[str, str] = {}  # of the open side
    sets = {"": segments}
    sides: set[str] = set()  # of the open document
    document, key, start = "", "", 0  # `start`: where the text of the open segment begins

    def fail(place: int, problem: str) -> NoReturn:
        raise InputError(f"{name}, line {text.count(chr(10), 0, place) + 1}: {problem}; correct the file")

    for match in _MARKUP.finditer(text):
        place, tag, written = match.start(), (match["tag"] or "").lower(), match["attributes"] or ""
        attributes = {name.lower(): _resolved("".join(values)) for name, *values in _ATTRIBUTE.findall(written)}
        if match["end"]:
            if not key:
                fail(place, f"{match[0]} closes no segment")
            segments[key], key = _resolved(text[start:place]), ""
        elif tag == "seg":
            opened = f"segment {attributes.get('id')} of document {document!r}"
            if key or opened in segments or not attributes.get("id"):
                fail(place, f"{opened} comes twice, has no id or lies in another segment")
            segments[opened] = ""
            if not written.endswith("/"):
                key, start = opened, match.end()
        elif tag in ("src", "ref", "hyp"):
            language = attributes.get("lang", "")
            if not key and (tag == "hyp" or language in sides):  # a system's output, or a further reference
                segments = {}
            elif not key and language:
                segments = sets.setdefault(language, {})
                sides.add(language)
        elif key:
            markup = " ".join(text[place : text.find(">", place) + 1 or None][:40].split())
            fail(place, f"{key} has markup ({markup}); write &lt; if its < is text")
        elif tag == "doc":
            document, sides, segments = attributes.get("docid") or attributes.get("id", ""), set(), sets[""]
        elif match["endless"]:
            fail(place, f"the markup that begins here, {text[place : place + 20]!r}, has no end")
    if key:
        fail(start, f"{key} has no end")
    return {language: segments for language, segments in sets.items() if segments}


def _resolved(text: str) -> str:
    def resolve(match: re.Match[str]) -> str:
        reference = match[1] or ""
        if reference.startswith("#"):
            letter = html.unescape(match[0])  # U+FFFD, too, for what is no character, such as &#0;
            return letter if letter and (letter != "\ufffd" or _REPLACEMENT.fullmatch(reference)) else match[0]
        return html5.get(f"{reference};", match[0])

    return in_one_line(_TAG_OR_REFERENCE.sub(resolve, text))


def in_one_line(text: str) -> str:
    """A text whose runs of ASCII white space are one blank, without any at both ends."""
    return re.sub("[ \t\n\f\r]+", " ", text).strip(" ")

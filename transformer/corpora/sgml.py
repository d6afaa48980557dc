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
# Comments, the tags of documents and sides, whole segments, and beginnings without an end.
_MARKUP = re.compile(
    rf"<!--.*?-->|<(?P<tag>doc|src|ref|hyp){_NAME_ENDS}(?P<attributes>{_ATTRIBUTES})>"
    rf"|<seg{_NAME_ENDS}(?P<of_segment>{_ATTRIBUTES})(?:(?<=/)>|>(?P<text>.*?)</\s*seg\s*>)"
    rf"|(?P<loose><!--|<(?:doc|seg){_NAME_ENDS}|</\s*seg\s*>)",
    re.DOTALL | re.IGNORECASE,
)
_NO_TEXT = re.compile(rf"<[!?/]|<(?:doc|seg){_NAME_ENDS}", re.IGNORECASE)
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
    document = ""

    def fail(place: int, problem: str) -> NoReturn:
        found = " ".join(text[place : place + 40].split())
        raise InputError(f"{name}, line {text.count(chr(10), 0, place) + 1}: {problem} ({found}); correct the file")

    for match in _MARKUP.finditer(text):
        tag, written = (match["tag"] or "").lower(), match["attributes"] or match["of_segment"] or ""
        attributes = {name.lower(): _resolved("".join(values)) for name, *values in _ATTRIBUTE.findall(written)}
        if match["loose"]:
            fail(match.start(), "markup without its end or beginning")
        elif tag == "doc":
            document, sides, segments = attributes.get("docid") or attributes.get("id", ""), set(), sets[""]
        elif tag:
            language = attributes.get("lang", "")
            if tag == "hyp" or language in sides:  # a system's output, or a further reference
                segments = {}
            elif language:
                segments = sets.setdefault(language, {})
                sides.add(language)
        elif match["of_segment"] is not None:
            key, content = f"segment {attributes.get('id')} of document {document!r}", match["text"] or ""
            if key in segments or not attributes.get("id"):
                fail(match.start(), f"{key} comes twice, or has no id")
            if markup := _NO_TEXT.search(content):
                fail(match.start("text") + markup.start(), f"{key} has markup; write &lt; if its < is text")
            segments[key] = _resolved(content)
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

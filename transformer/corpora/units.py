"""Read the units of translation memories and of translated software: TMX, XLIFF and PO.

A unit has a text in each of its languages. Files are read in a stream, with one unit in memory at a time.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain
from typing import IO, NamedTuple, NoReturn
from xml.etree.ElementTree import Element, ParseError

from transformer.corpora.codes import stands_for_blank
from transformer.corpora.sgml import in_one_line
from transformer.support.files import InputError
from transformer.support.languages import code_of, meant

XML = (".tmx", ".xlf", ".xliff")
PO = ".po"
UNITS = (*XML, PO)
UNTRANSLATED, FUZZY = "no translation", "fuzzy translation"
ORIGINAL = ""  # the language of the messages of a PO file, which does not say it
CODE = frozenset({"bpt", "ept", "it", "ph", "ut"})  # elements with code of another format, such as tags of HTML
_PO_LINE = re.compile(
    r'(?:(msgctxt|msgid|msgid_plural|msgstr(?=\[|\s))(?:\[(\d{1,3})\])?\s*)?"((?:[^"\\]|\\[abfnrtv"\\])*)"'
)
_ESCAPE = re.compile(r"\\(.)")
_ESCAPES = dict(zip("abfnrtv", "\a\b\f\n\r\t\v", strict=True))
# States of XLIFF 1.2 and 2 in which programs fill the target with the source. A target without a state counts as
# translated: in XLIFF 2 its state is then `initial`, but many programs write translations without any state.
NEW = frozenset({"new", "needs-translation", "initial"})
_SAYS = re.compile("(c|sub)?type|equiv|disp|dataref", re.IGNORECASE)  # attributes that say what a code is
# The attributes of XLIFF 1.2 and 2 that name the languages of a file.
_SIDES = {"source-language": "source", "srcLang": "source", "target-language": "target", "trgLang": "target"}


class Unit(NamedTuple):
    """The texts of a unit by language, and why it is left out; empty if it is not."""

    texts: dict[str, str]
    fault: str = ""


def pairs_of(
    name: str, units: Iterable[Unit], languages: tuple[str, str], left_out: Counter[str]
) -> Iterator[tuple[str, str]]:
    """The texts of units in two languages. `left_out` counts the units that have no such pair, by reason.

    A language is also found as a variety of it: en as EN, eng and en-US; en-US as en, but not as en-GB. If a unit has
    several, the very language comes first, and then the first in the unit. Raises InputError when there are units, but
    none has a pair.
    """
    chosen: dict[tuple[str, ...], list[str | None]] = {}
    count = found = 0
    for texts, fault in units:
        count += 1
        known = tuple(texts)
        if known not in chosen:
            chosen[known] = [choose(language, known) for language in languages]
        first, second = chosen[known]
        if fault or first is None or second is None or first == second or not (texts[first] and texts[second]):
            left_out[fault or UNTRANSLATED] += 1
        else:
            found += 1
            yield texts[first], texts[second]
    if count and not found:
        shown = ", ".join(filter(None, dict.fromkeys(chain.from_iterable(chosen)))) or "none"
        raise InputError(
            f"{name}: none of {count:,} units is translated between {languages[0]} and {languages[1]}; its languages "
            f"are {shown}; name two of them in the config"
        )


def choose(language: str, known: Iterable[str]) -> str | None:
    """The one of the known languages that stands for a language; ORIGINAL stands for any, and None if none does."""
    wanted = _parts(language)
    alike = [name for name in known if name and all(a == b for a, b in zip(wanted, _parts(name), strict=False))]
    exact = [name for name in alike if _parts(name) == wanted]
    return next(iter([*exact, *alike, *(name for name in known if name == ORIGINAL)]), None)


def _parts(language: str) -> list[str]:
    """The code of a language, its region and its variety."""
    first, *more = re.split("[-_]", language.lower())
    try:
        return [code_of(meant(first)), *more]
    except InputError:
        return [first, *more]


def read_xml(name: str, stream: IO[bytes]) -> Iterator[Unit]:
    """The units of a TMX or XLIFF file (1.2, 2.0), in a stream.

    The code in a text (<bpt>, <ph>, ...) is left out. What other elements in it contain is text. An element that
    `stands_for_blank`, such as a line break, becomes one. Runs of white space become one blank. Raises InputError for
    XML that is not well-formed, for an encoding that the parser does not have, and for declared entities, because few
    of them can stand for gigabytes.
    """
    from defusedxml.common import DefusedXmlException
    from defusedxml.ElementTree import iterparse

    opened: list[Element] = []  # the elements that contain the one that is read
    try:
        # A DTD may be named, as in most TMX files; it is not read.
        for event, element in iterparse(stream, ("start", "end"), forbid_external=False):
            if event == "start":
                opened.append(element)
                continue
            opened.pop()
            if _tag(element) in ("tu", "trans-unit", "segment"):
                yield _unit(element, opened)
            if opened and not any(_tag(each) in ("tu", "trans-unit", "unit") for each in opened):
                opened[-1].remove(element)  # so that memory does not grow
    except ParseError as error:
        raise InputError(f"{name}: is not well-formed XML ({error}); correct the file") from error
    except DefusedXmlException as error:
        raise InputError(f"{name}: has declared entities (<!ENTITY ...>), which are not read; remove them") from error
    except (LookupError, ValueError) as error:  # of the encoding, such as Shift_JIS, which has several bytes a letter
        raise InputError(f"{name}: its encoding is not read ({error}); convert it to UTF-8 (iconv)") from error


def _tag(element: Element) -> str:
    """The name of an element without its namespace."""
    return element.tag.rpartition("}")[2]


def _unit(unit: Element, opened: Sequence[Element]) -> Unit:
    """The unit of a <tu>, <trans-unit> or <segment>, inside of the elements that name the languages of XLIFF."""
    sides = {_SIDES[key]: language for each in opened for key, language in each.items() if key in _SIDES}
    in_unit = opened[-1].iter() if _tag(unit) == "segment" and opened else ()
    data = {each.get("id", ""): _text(each, {}) for each in in_unit if _tag(each) == "data"}
    texts: dict[str, str] = {}
    for child in unit:
        tag = _tag(child)
        language = child.get("{http://www.w3.org/XML/1998/namespace}lang") or child.get("lang") or sides.get(tag, "")
        for text in (seg for seg in child if _tag(seg) == "seg") if tag == "tuv" else (child,):
            if language and tag in ("tuv", "source", "target"):
                texts.setdefault(language, in_one_line(_text(text, data)))
    is_new = any(_is_new(each) for each in (unit, *(child for child in unit if _tag(child) == "target")))
    return Unit(texts, UNTRANSLATED if is_new else "")


def _is_new(element: Element) -> bool:
    """Whether the state of a segment or target says that it is no translation."""
    states = (element.get(key, "").lower().rpartition(":")[2] for key in ("state", "subState"))
    return not NEW.isdisjoint(states)


def _text(element: Element, data: Mapping[str, str]) -> str:
    """The text in an element. `data` are the codes of an XLIFF 2 unit, to which attributes refer."""
    parts = [element.text or ""]
    for child in element:
        tag, is_code = _tag(child), _tag(child) in CODE
        says = [data.get(value, value) for key, value in child.items() if _SAYS.match(key)]
        says += [tag, "".join(child.itertext()) if is_code else ""]
        blank = " " * any(map(stands_for_blank, says))
        parts += [blank, "" if is_code else _text(child, data), blank, child.tail or ""]
    return "".join(parts)


def read_po(name: str, lines: Iterable[str]) -> Iterator[Unit]:
    """The units of a PO file, which GNU gettext and its like write. Its header names the language of translations.

    A message with a plural gives two units: its singular with the first form, and its plural with the last. Obsolete
    messages are no units. Raises InputError with the line for what is not PO, and when no header names a language.
    """
    language = key = ""
    message: dict[str, str] = {}  # keyword -> text, and `fuzzy`; a msgstr is a msgstr[0]

    def fail(number: int, problem: str) -> NoReturn:
        raise InputError(f"{name}, line {number}: {problem}; correct the file, or see what msgfmt says")

    for number, line in enumerate(chain(lines, [""]), start=1):
        text = line.strip(" \t\r\f\v")
        if "msgstr[0]" in message and not text.startswith(('"', "msgstr")):  # the message ends
            if message["msgid"] == "" and "msgctxt" not in message:
                known = re.search(r"^Language:[ \t]*([\w@.-]+)", message["msgstr[0]"], re.MULTILINE | re.IGNORECASE)
                language = known[1] if known else ""
            elif not language:
                fail(number, 'no header names the language: write msgid "", msgstr "" and "Language: de\\n" before')
            else:
                yield from _units(message, language)
            message = {}
        if text.startswith("#~"):  # an obsolete message, whose flag ends with it
            message.pop("fuzzy", None)
        elif text.startswith("#,") and "fuzzy" in re.split("[, \t]+", text):
            message["fuzzy"] = ""
        if not text or text.startswith("#"):
            continue
        if not (match := _PO_LINE.fullmatch(text)):
            fail(number, f"is not PO ({text[:40]!r} is no keyword with a text in quotes)")
        keyword, index, written = match.groups()
        if keyword:
            key = f"msgstr[{int(index or 0)}]" if keyword == "msgstr" else keyword
        if bool(keyword) == (key in message) or (keyword == "msgstr" and "msgid" not in message):
            fail(number, f"is not PO ({keyword or text[:40]!r} is out of its place)")
        message[key] = message.get(key, "") + _ESCAPE.sub(lambda escape: _ESCAPES.get(escape[1], escape[1]), written)
    if "msgid" in message:
        fail(number, "is not PO (a msgid without a msgstr)")


def _units(message: Mapping[str, str], language: str) -> Iterator[Unit]:
    forms = [text for key, text in message.items() if key.startswith("msgstr")]
    originals = [message["msgid"], message.get("msgid_plural", "")][: len(forms)]
    if len(forms) == 1:  # a language without plurals
        originals = [message.get("msgid_plural") or message["msgid"]]
    for original, translation in zip(originals, (forms[0], forms[-1]), strict=False):
        texts = {ORIGINAL: in_one_line(original), language: in_one_line(translation)}
        yield Unit(texts, FUZZY if "fuzzy" in message else "")

"""Read the units of translation memories and of translated software: TMX, XLIFF and PO.

A unit has a text in each of its languages. Files are read in a stream, with one unit in memory at a time.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import IO, Any, NamedTuple, NoReturn
from xml.sax import ContentHandler, SAXParseException

from transformer.corpora.codes import stands_for_blank
from transformer.corpora.sgml import in_one_line
from transformer.support.files import InputError
from transformer.support.languages import code_of, meant

XML = (".tmx", ".xlf", ".xliff")
PO = ".po"
UNITS = (*XML, PO)
BLOCK = 2**16  # bytes
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
    seen: dict[str, None] = {}
    chosen: dict[tuple[str, ...], list[str | None]] = {}
    count = found = 0
    for texts, fault in units:
        count += 1
        known = tuple(texts)
        if known not in chosen:
            seen |= dict.fromkeys(known)
            chosen[known] = [choose(language, known) for language in languages]
        first, second = chosen[known]
        if fault or first is None or second is None or first == second or not (texts[first] and texts[second]):
            left_out[fault or UNTRANSLATED] += 1
        else:
            found += 1
            yield texts[first], texts[second]
    if count and not found:
        shown = ", ".join(filter(None, seen)) or "none"
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
    `stands_for_blank`, such as a line break, becomes one. Runs of white space become one blank. Raises InputError with
    the line for XML that is not well-formed, for an encoding that the parser does not have, and for declared entities,
    because few of them can stand for gigabytes.
    """
    from defusedxml.common import DefusedXmlException
    from defusedxml.sax import make_parser

    handler, parser = _Handler(), make_parser()
    parser.forbid_external = False  # a DTD may be named, as in most TMX files; it is not read
    parser.setContentHandler(handler)
    try:
        while block := stream.read(BLOCK):
            parser.feed(block)
            yield from handler.taken()
        parser.close()
        yield from handler.taken()
    except SAXParseException as error:
        line, problem = error.getLineNumber(), error.getMessage()
        raise InputError(f"{name}, line {line}: is not well-formed XML ({problem}); correct the file") from error
    except (DefusedXmlException, _UndefinedError) as error:
        what = f"the reference &{error};" if isinstance(error, _UndefinedError) else "a declared entity"
        raise InputError(
            f"{name}, line {parser.getLineNumber()}: {what} is not read; write the character itself, and remove "
            "<!ENTITY ...> from the file"
        ) from error
    except (LookupError, ValueError) as error:  # of the encoding, such as Shift_JIS, which has several bytes a letter
        raise InputError(
            f"{name}, line 1: its encoding is not read ({error}); convert the file (iconv -f ENCODING -t utf-8 OLD > "
            'NEW), and write encoding="UTF-8" in its first line'
        ) from error


def _fault(attributes: Any) -> str:
    """Why a segment or target in this state is no translation; empty if it is one."""
    states = (attributes.get(key, "").lower().rpartition(":")[2] for key in ("state", "subState"))
    return UNTRANSLATED if NEW.intersection(states) else ""


class _UndefinedError(Exception):
    """A reference to an entity that the file does not define."""


class _Handler(ContentHandler):
    """Collects the units of an XML file."""

    def __init__(self) -> None:
        super().__init__()
        self.units: list[Unit] = []
        self.unit: Unit | None = None  # the open unit
        self.sides = {"source": "", "target": ""}  # the languages of an XLIFF file
        self.language = ""
        self.text: list[str] | None = None  # of the open segment
        self.codes: list[tuple[bool, list[str]]] = []  # the open elements in it: whether each is a blank; its content
        self.data: dict[str, str] = {}  # the codes of an XLIFF 2 unit, which elements name
        self.outside = 0  # how many open elements are no part of the unit's texts

    def taken(self) -> list[Unit]:
        """The units that were closed since the last call."""
        units, self.units = self.units, []
        return units

    def startElement(self, name: str, attributes: Any) -> None:
        name = name.rpartition(":")[2]
        own = attributes.get("xml:lang") or attributes.get("lang")
        if self.outside or name in ("alt-trans", "matches"):
            self.outside += 1
        elif self.text is not None:
            said = (self.data.get(value, value) for key, value in attributes.items() if _SAYS.match(key))
            is_blank = any(map(stands_for_blank, (name, *said)))
            self.text += [" "] * is_blank
            self.codes.append((is_blank, []))
            self.outside += name in CODE
        elif name in ("xliff", "file"):
            written = {"source": ("source-language", "srcLang"), "target": ("target-language", "trgLang")}
            for side, keys in written.items():
                self.sides[side] = next((attributes[key] for key in keys if key in attributes), self.sides[side])
        elif name == "unit":
            self.data = {}
        elif name in ("tu", "trans-unit", "segment"):
            self.unit = Unit({}, _fault(attributes))
        elif name == "tuv":
            self.language = own or ""
        elif name == "data":
            self.language, self.text = attributes.get("id", ""), []
        elif self.unit is not None and name in ("seg", "source", "target"):
            self.language = self.language if name == "seg" else own or self.sides[name]
            if name == "target":
                self.unit = self.unit._replace(fault=self.unit.fault or _fault(attributes))
            self.text = []

    def endElement(self, name: str) -> None:
        name = name.rpartition(":")[2]
        self.outside -= bool(self.outside)
        if self.outside:
            return
        if self.text is not None and self.codes:
            is_blank, content = self.codes.pop()
            self.text += [" "] * (is_blank or stands_for_blank("".join(content)))
        elif self.text is not None:
            text, self.text = "".join(self.text), None
            if name == "data":
                self.data[self.language] = text
            elif self.unit is not None and self.language:
                self.unit.texts.setdefault(self.language, in_one_line(text))
        elif self.unit is not None and name in ("tu", "trans-unit", "segment"):
            self.units.append(self.unit)
            self.unit = None

    def characters(self, content: str) -> None:
        if self.text is not None and not self.outside:
            self.text.append(content)
        elif self.codes:
            self.codes[-1][1].append(content)

    def skippedEntity(self, name: str) -> None:
        raise _UndefinedError(name)


def read_po(name: str, lines: Iterable[str]) -> Iterator[Unit]:
    """The units of a PO file, which GNU gettext and its like write. Its header names the language of translations.

    A message with a plural gives two units: its singular with the first form, and its plural with the last. Obsolete
    messages are no units. Raises InputError with the line for what is not PO, and when no header names a language.
    """
    language = ""
    for number, message in _messages(name, lines):
        if message["msgid"] == "" and "msgctxt" not in message:
            known = re.search(r"^Language:[ \t]*([\w@.-]+)", message["msgstr[0]"], re.MULTILINE | re.IGNORECASE)
            language = known[1] if known else ""
        elif not language:
            raise InputError(
                f'{name}, line {number}: no header names the language; begin the file with msgid "", msgstr "" and a '
                'line such as "Language: de\\n"'
            )
        else:
            forms = [text for key, text in message.items() if key.startswith("msgstr")]
            originals = [message["msgid"], message.get("msgid_plural", "")][: len(forms)]
            if len(forms) == 1:  # a language without plurals
                originals = [message.get("msgid_plural") or message["msgid"]]
            for original, translation in zip(originals, (forms[0], forms[-1]), strict=False):
                texts = {ORIGINAL: in_one_line(original), language: in_one_line(translation)}
                yield Unit(texts, FUZZY if "fuzzy" in message else "")


def _messages(name: str, lines: Iterable[str]) -> Iterator[tuple[int, dict[str, str]]]:
    """The messages of a PO file, each with its last line: keyword -> text, and `fuzzy`. A msgstr is a msgstr[0]."""
    message: dict[str, str] = {}
    key, number = "", 0

    def fail(problem: str) -> NoReturn:
        raise InputError(f"{name}, line {number}: is not PO ({problem}); correct the file, or see what msgfmt says")

    def is_whole() -> bool:
        return "msgstr[0]" in message

    for number, line in enumerate(lines, start=1):
        text = line.strip(" \t\r\f\v")
        if is_whole() and not text.startswith('"') and not text.startswith("msgstr"):
            yield number - 1, message
            message = {}
        if not text or text.startswith("#"):
            if text.startswith("#,") and "fuzzy" in re.split("[, \t]+", text):
                message["fuzzy"] = ""
            elif text.startswith("#~"):  # an obsolete message, whose flag ends with it
                message.pop("fuzzy", None)
            continue
        if not (match := _PO_LINE.fullmatch(text)):
            fail(f"{text[:40]!r} is no keyword with a text in quotes")
        keyword, index, written = match.groups()
        if keyword:
            key = f"msgstr[{int(index or 0)}]" if keyword == "msgstr" else keyword
            if key in message:
                fail(f"a second {key} of one message")
            if keyword == "msgstr" and "msgid" not in message:
                fail(f"{key} without a msgid")
        elif key not in message:
            fail("a text without its keyword")
        message[key] = message.get(key, "") + _ESCAPE.sub(lambda escape: _ESCAPES.get(escape[1], escape[1]), written)
    if is_whole():
        yield number, message
    elif "msgid" in message:
        fail("a msgid without a msgstr")

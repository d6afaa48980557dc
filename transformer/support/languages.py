"""Languages as people write them: `fr`, `FR`, `fr-CA`, `pt_BR`, `fra`, `french`."""

import difflib
import re
from collections.abc import Iterator

from transformer.support.files import InputError

# The ISO 639 codes of large languages, the one of two letters first, and the English name. Others keep their codes.
_TABLE = """
ar/ara/arabic bg/bul/bulgarian bo/bod/tib/tibetan ca/cat/catalan cs/ces/cze/czech da/dan/danish de/deu/ger/german
dz/dzo/dzongkha el/ell/gre/greek en/eng/english es/spa/spanish et/est/estonian fa/fas/per/persian fi/fin/finnish
fr/fra/fre/french ga/gle/irish he/heb/hebrew hi/hin/hindi hr/hrv/croatian hu/hun/hungarian id/ind/indonesian
is/isl/ice/icelandic it/ita/italian ja/jpn/japanese km/khm/khmer ko/kor/korean lo/lao lt/lit/lithuanian lv/lav/latvian
my/mya/bur/burmese nl/nld/dut/dutch no/nor/norwegian pl/pol/polish pt/por/portuguese ro/ron/rum/romanian ru/rus/russian
sk/slk/slo/slovak sl/slv/slovenian sr/srp/serbian sv/swe/swedish ta/tam/tamil th/tha/thai tr/tur/turkish
uk/ukr/ukrainian vi/vie/vietnamese zh/zho/chi/cmn/chinese
"""
# Codes of countries, for languages with another code.
_COUNTRIES = {
    "ua": "uk",
    "gr": "el",
    "jp": "ja",
    "cn": "zh",
    "cz": "cs",
    "dk": "da",
    "rs": "sr",
    "ir": "fa",
    "vn": "vi",
}
_LANGUAGES = [entry.split("/") for entry in _TABLE.split()]
_CODES = {name: names[0] for names in _LANGUAGES for name in names}
_NAMES = {names[0]: names[-1].title() for names in _LANGUAGES}


def code_of(name: str) -> str:
    """The code of a language, of two letters if it is in the table: `fr` for `fr-CA`, `fra` and `French`.

    Region, script and variety do not change it. Raises InputError for a country's code and for what is no code.
    """
    first, *more = re.split("[-_]", name.lower())
    code = _CODES.get(first) or (first if re.fullmatch("[a-z]{2,3}", first) and first not in _COUNTRIES else "")
    if code and all(re.fullmatch("[a-z0-9]{1,8}", each) for each in more):
        return code
    close = _COUNTRIES.get(first) or next(iter(difflib.get_close_matches(first, _CODES, 1, 0.7)), "")
    meant = f"{_CODES[close]} for {close.title()}" if len(close) > 3 else _CODES.get(close)
    hint = f"did you mean {meant}? If not, " if meant else ""
    raise InputError(
        f"{name!r} is not a language; {hint}write its ISO 639 code, such as en (en-simple for a variety, und for none)"
    )


def name_of(code: str) -> str:
    """The name of a language in English, such as German for `de`; the code itself if it has no name here."""
    return _NAMES.get(code, code)


def meant(name: str) -> str:
    """The language of a code that is a country's, as in other programs' files: `cs` for `cz`; else the code itself."""
    return _COUNTRIES.get(name.lower(), name)


def not_languages(**sides: str) -> Iterator[tuple[str, str]]:
    """What is wrong with each side, by its key, that is not a language."""
    for key, name in sides.items():
        try:
            code_of(name)
        except InputError as error:
            yield key, str(error)

"""Languages as people write them: `fr`, `FR`, `fr-CA`, `pt_BR`, `fra`, `french`."""

import difflib
import re
from collections.abc import Iterator

from transformer.support.files import InputError

# ISO 639: the two-letter code of each language that has one, its three-letter codes, and its English name.
_TABLE = """
aa/aar/afar ab/abk/abkhazian ae/ave/avestan af/afr/afrikaans ak/aka/akan am/amh/amharic an/arg/aragonese ar/ara/arabic
as/asm/assamese av/ava/avaric ay/aym/aymara az/aze/azerbaijani ba/bak/bashkir be/bel/belarusian bg/bul/bulgarian
bi/bis/bislama bm/bam/bambara bn/ben/bengali bo/bod/tib/tibetan br/bre/breton bs/bos/bosnian ca/cat/catalan
ce/che/chechen ch/cha/chamorro co/cos/corsican cr/cre/cree cs/ces/cze/czech cu/chu cv/chv/chuvash cy/cym/wel/welsh
da/dan/danish de/deu/ger/german/deutsch dv/div/divehi dz/dzo/dzongkha ee/ewe/ewe el/ell/gre/greek en/eng/english
eo/epo/esperanto es/spa/spanish/castilian et/est/estonian eu/eus/baq/basque fa/fas/per/persian/farsi ff/ful/fulah
fi/fin/finnish fj/fij/fijian fo/fao/faroese fr/fra/fre/french fy/fry/frisian ga/gle/irish gd/gla/gaelic
gl/glg/galician gn/grn/guarani gu/guj/gujarati gv/glv/manx ha/hau/hausa he/heb/hebrew/iw hi/hin/hindi ho/hmo
hr/hrv/croatian ht/hat/haitian hu/hun/hungarian hy/hye/arm/armenian hz/her/herero ia/ina/interlingua id/ind/indonesian
ie/ile/interlingue ig/ibo/igbo ii/iii ik/ipk/inupiaq io/ido/ido is/isl/ice/icelandic it/ita/italian iu/iku/inuktitut
ja/jpn/japanese jv/jav/javanese ka/kat/geo/georgian kg/kon/kongo ki/kik/kikuyu kj/kua/kuanyama kk/kaz/kazakh
kl/kal/kalaallisut km/khm/khmer kn/kan/kannada ko/kor/korean kr/kau/kanuri ks/kas/kashmiri ku/kur/kurdish kv/kom/komi
kw/cor/cornish ky/kir/kyrgyz la/lat/latin lb/ltz/luxembourgish lg/lug/ganda li/lim/limburgan ln/lin/lingala lo/lao/lao
lt/lit/lithuanian lu/lub lv/lav/latvian mg/mlg/malagasy mh/mah/marshallese mi/mri/mao/maori mk/mkd/mac/macedonian
ml/mal/malayalam mn/mon/mongolian mr/mar/marathi ms/msa/may/malay mt/mlt/maltese my/mya/bur/burmese na/nau/nauru
nb/nob nd/nde ne/nep/nepali ng/ndo/ndonga nl/nld/dut/dutch/flemish nn/nno no/nor/norwegian nr/nbl nv/nav/navajo
ny/nya/chichewa oc/oci/occitan oj/oji/ojibwa om/orm/oromo or/ori/oriya os/oss/ossetian pa/pan/punjabi pi/pli/pali
pl/pol/polish ps/pus/pashto pt/por/portuguese qu/que/quechua rm/roh/romansh rn/run/rundi
ro/ron/rum/romanian/mo/moldavian ru/rus/russian rw/kin/kinyarwanda sa/san/sanskrit sc/srd/sardinian sd/snd/sindhi
se/sme sg/sag/sango sh/hbs si/sin/sinhala sk/slk/slo/slovak sl/slv/slovenian sm/smo/samoan sn/sna/shona so/som/somali
sq/sqi/alb/albanian sr/srp/serbian ss/ssw/swati st/sot su/sun/sundanese sv/swe/swedish sw/swa/swahili ta/tam/tamil
te/tel/telugu tg/tgk/tajik th/tha/thai ti/tir/tigrinya tk/tuk/turkmen tl/tgl/tagalog/fil/filipino tn/tsn/tswana
to/ton/tonga tr/tur/turkish ts/tso/tsonga tt/tat/tatar tw/twi/twi ty/tah/tahitian ug/uig/uyghur uk/ukr/ukrainian
ur/urd/urdu uz/uzb/uzbek ve/ven/venda vi/vie/vietnamese vo/vol/volapük wa/wln/walloon wo/wol/wolof xh/xho/xhosa
yi/yid/yiddish/ji yo/yor/yoruba za/zha/zhuang zh/zho/chi/chinese/cmn/mandarin zu/zul/zulu
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
# Codes of languages that are also those of countries with another language.
_ALSO_COUNTRIES = {
    "br": "Breton; Portuguese is pt",
    "ee": "Ewe; Estonian is et",
    "kr": "Kanuri; Korean is ko",
    "se": "Northern Sami; Swedish is sv",
    "si": "Sinhala; Slovenian is sl",
    "tw": "Twi; Chinese is zh",
}
_LANGUAGES = [entry.split("/") for entry in _TABLE.split()]
_CODES = {name: names[0] for names in _LANGUAGES for name in names}
# The first English name of each. A name of three letters stands twice in its entry, as a code and as a name.
_NAMES = {
    names[0]: name.title()
    for names in _LANGUAGES
    for name in reversed(names)
    if len(name) > len("deu") or names.count(name) > 1
}


def code_of(name: str) -> str:
    """The code of a language, of two letters if it has one: `fr` for `fr-CA`, `fra` and `French`, but `yue` for `yue`.

    Region, script and variety do not change it. Raises InputError for what is not a language.
    """
    first, *more = re.split("[-_]", name.lower())
    code = _CODES.get(first) or (first if re.fullmatch("[a-z]{3}", first) else "")
    if code and all(re.fullmatch("[a-z0-9]{1,8}", each) for each in more):
        return code
    raise InputError(
        f"{name!r} is not a language; {_hint(first)}write its ISO 639 code, such as en (en-simple for a variety, und "
        "for none)"
    )


def name_of(code: str) -> str:
    """The name of a language in English, such as German for `de`; the code itself if it has no name here."""
    return _NAMES.get(code, code)


def meant(name: str) -> str:
    """The language of a code that is a country's, as in other programs' files: `cs` for `cz`; else the code itself."""
    return _COUNTRIES.get(name.lower(), name)


def _hint(name: str) -> str:
    """The question for the language that is probably meant; empty if none is."""
    word = name.partition(" ")[0]
    names = [word] if word in _CODES else difflib.get_close_matches(word, _CODES, n=1, cutoff=0.75) if word[2:] else []
    close = names[0] if names else _COUNTRIES.get(word, "")
    shown = f"{_CODES[close]} for {close.title()}" if len(close) > 3 else _CODES.get(close)
    return f"did you mean {shown}? If not, " if close else ""


def doubt(name: str) -> str:
    """A warning if a language may be a slip: its code is also a country's, or has three letters; empty if it is not.

    Raises the InputError of `code_of`.
    """
    code = code_of(name)
    if name.lower() in _ALSO_COUNTRIES:
        return f"{name} is {_ALSO_COUNTRIES[code]}; check it"
    if len(code) == 2 or code in ("und", "mul", "zxx"):
        return ""
    return f"{code} has no two-letter code, so BLEU takes English's abbreviations; check it (und for no language)"


def not_languages(**sides: str) -> Iterator[tuple[str, str]]:
    """What is wrong with each side, by its key, that is not a language."""
    for key, name in sides.items():
        try:
            code_of(name)
        except InputError as error:
            yield key, str(error)

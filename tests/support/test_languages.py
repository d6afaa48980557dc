import pytest

from transformer.support.files import InputError
from transformer.support.languages import code_of, name_of


@pytest.mark.parametrize(
    ("code", "names"),
    [
        ("fr", ["fr", "FR", "fr-CA", "fr_CA", "fra", "fre", "French", "fra-CA"]),
        ("zh", ["zh", "zh-Hans", "zh_Hant_TW", "zho", "cmn", "zh-CN", "Chinese"]),
        ("en", ["en", "eng", "en-GB", "en-simple", "english", "en-x-mine"]),
        ("de", ["de-1996", "deu", "ger", "German", "de_formal"]),
        ("yue", ["yue", "yue-HK"]),
        ("xh", ["xh", "xh-ZA"]),
        ("und", ["und", "und-forward"]),
    ],
)
def test_a_language_has_one_code_however_it_is_written(code, names):
    assert {code_of(name) for name in names} == {code}


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        *[("fr CA", "fr"), ("frensh", "fr for French"), ("germn", "de for German"), ("fr--CA", "fr"), ("jp", "ja")],
        *[("gr", "el"), ("fr-", "fr"), ("", ""), (" ", ""), ("fr/CA", "fr"), ("qwerty", "")],
    ],
)
def test_what_is_not_a_language_is_refused_with_a_similar_one(name, hint):
    with pytest.raises(InputError) as error:
        code_of(name)
    meant = f"did you mean {hint}? If not, " if hint else ""
    assert str(error.value) == (
        f"{name!r} is not a language; {meant}write its ISO 639 code, such as en (en-simple for a variety, und for none)"
    )


@pytest.mark.parametrize(("code", "name"), [("de", "German"), ("lo", "Lao"), ("yue", "yue"), ("xh", "xh")])
def test_a_language_of_the_table_has_its_english_name(code, name):
    assert name_of(code) == name

import pytest
from hypothesis import given
from hypothesis import strategies as st

from transformer.support.files import InputError
from transformer.support.languages import code_of, doubt, name_of


@pytest.mark.parametrize(
    ("code", "names"),
    [
        ("fr", ["fr", "FR", "Fr", "fr-CA", "fr_CA", "fr-ca", "fra", "fre", "FRA", "french", "French", "fra-CA"]),
        ("pt", ["pt_BR", "pt-PT", "por", "Portuguese"]),
        ("zh", ["zh", "zh-Hans", "zh_Hant_TW", "zho", "chi", "cmn", "zh-CN", "Chinese", "mandarin"]),
        ("en", ["en", "eng", "en-GB", "en-simple", "english", "en-x-mine"]),
        ("de", ["de-1996", "deu", "ger", "German", "de_formal", "Deutsch"]),
        ("no", ["no", "nor"]),
        ("sr", ["sr-Latn", "sr_Cyrl_RS"]),
        ("es", ["es-419"]),
        ("yue", ["yue", "yue-HK"]),
        ("und", ["und", "und-forward"]),
    ],
)
def test_a_language_has_one_code_however_it_is_written(code, names):
    assert {code_of(name) for name in names} == {code}


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        *[
            ("fr CA", "fr"),
            ("frensh", "fr for French"),
            ("germn", "de for German"),
            ("deutsh", "de for Deutsch"),
            ("deutsch-", "de for Deutsch"),
            ("ua", "uk"),
            ("gr", "el"),
            ("vn", "vi"),
            ("englisch", "en for English"),
            ("fr--CA", "fr"),
        ],
        *[("", ""), (" ", ""), ("jp", "ja"), ("xx", ""), ("fr-", "fr"), ("fr/CA", ""), ("fr-überlang", "fr")],
    ],
)
def test_what_is_not_a_language_is_refused_with_a_similar_one(name, hint):
    with pytest.raises(InputError) as error:
        code_of(name)
    message = str(error.value)
    assert message.startswith(f"{name!r} is not a language; ")
    assert message.endswith("write its ISO 639 code, such as en (en-simple for a variety, und for none)")
    if hint:
        assert f"did you mean {hint}?" in message


@pytest.mark.parametrize(
    ("code", "name"),
    [
        ("de", "German"),
        ("he", "Hebrew"),
        ("ro", "Romanian"),
        ("lo", "Lao"),
        ("ee", "Ewe"),
        ("nb", "nb"),
        ("yue", "yue"),
    ],
)
def test_a_language_has_its_english_name_also_if_that_is_short(code, name):
    assert name_of(code) == name


@pytest.mark.parametrize("name", ["jap", "src", "yue-HK"])
def test_a_code_that_may_be_a_slip_is_doubted(name):
    assert doubt(name) == (
        f"{name[:3]} has no two-letter code, so BLEU takes English's abbreviations; check it (und for no language)"
    )


@pytest.mark.parametrize(("name", "meant"), [("kr", "Korean is ko"), ("TW", "Chinese is zh"), ("se", "Swedish is sv")])
def test_a_code_that_is_also_a_country_s_is_doubted(name, meant):
    assert doubt(name).endswith(f"; {meant}; check it")


@pytest.mark.parametrize("name", ["de", "fr-CA", "jpn", "und", "zxx", "kau", "br-FR"])
def test_a_known_language_is_not_doubted(name):
    assert doubt(name) == ""


@given(st.text(max_size=12))
def test_a_code_is_its_own_code(name):
    try:
        code = code_of(name)
    except InputError:
        return
    assert code_of(code) == code

import gzip
import tracemalloc
from io import BytesIO

import pytest
from packed import read, refused, write, write_zip

from transformer.corpora.reading import Asked
from transformer.corpora.units import FUZZY, UNTRANSLATED, read_xml

TMX = """<?xml version="1.0"?>
<!DOCTYPE tmx SYSTEM "tmx14.dtd">
<tmx version="1.4"><header srclang="en"><note>n</note></header><body>{}</body></tmx>
"""
XLIFF = """<?xml version="1.0"?>
<xliff version="1.2" xmlns="urn:oasis:names:tc:xliff:document:1.2">
<file original="a" source-language="en-US" target-language="de" datatype="x"><body>{}</body></file></xliff>
"""
XLIFF2 = """<xliff xmlns="urn:oasis:names:tc:xliff:document:2.0" version="2.0" srcLang="en" trgLang="de">
<file id="f"><unit id="1">{}</unit></file></xliff>
"""
PO = """msgid ""
msgstr ""
"Language: de_DE\\n"
"Content-Type: text/plain; charset=UTF-8\\n"

"""


def tu(**texts):
    return "<tu>" + "".join(f'<tuv xml:lang="{k}"><seg>{v}</seg></tuv>' for k, v in texts.items()) + "</tu>\n"


def trans_unit(source, target="", state=""):
    return (
        f"<trans-unit id='1'><source>{source}</source>{target and f'<target{state}>{target}</target>'}</trans-unit>\n"
    )


@pytest.fixture
def pairs_of(tmp_path):
    """The pairs of a file with this name and content, in two languages, and what was left out."""

    def pairs_of(name, content, languages=("en", "de")):
        path = write(tmp_path / name, content if isinstance(content, bytes) else content.encode())
        asked = Asked(languages)
        return read(path, path, tmp_path, asked=asked), asked.left_out

    return pairs_of


@pytest.fixture
def refused_of(tmp_path):
    """The message for a file with this name and content."""

    def refused_of(name, content):
        path = write(tmp_path / name, content if isinstance(content, bytes) else content.encode())
        return refused(path, path, tmp_path).removeprefix(f"{tmp_path}/")

    return refused_of


def test_a_tmx_has_a_pair_for_each_unit_with_both_languages(pairs_of):
    units = tu(en="one", de="eins", fr="un") + tu(en="two", fr="deux") + tu(de="drei", en="three") + tu(en="", de="x")
    found, left_out = pairs_of("a.tmx", TMX.format(units))
    assert found == [("one", "eins"), ("three", "drei")]
    assert left_out == {UNTRANSLATED: 2}
    assert pairs_of("a.tmx", TMX.format(units), ("fr", "en"))[0] == [("un", "one"), ("deux", "two")]


def test_an_xliff_has_a_pair_for_each_translated_unit_and_its_proposals_are_no_units(pairs_of):
    other = "<alt-trans><source>x</source><target>y</target></alt-trans></trans-unit>"
    units = trans_unit("one", "eins").replace("</trans-unit>", other) + trans_unit("two")
    units += trans_unit("three", "three", " state='new'") + trans_unit("four", "vier", " state='final'")
    found, left_out = pairs_of("a.xlf", XLIFF.format(units))
    assert (found, left_out) == ([("one", "eins"), ("four", "vier")], {UNTRANSLATED: 2})
    assert pairs_of("a.xliff", XLIFF.format(units), ("de", "en"))[0] == [("eins", "one"), ("vier", "four")]


def test_an_xliff_2_has_a_pair_for_each_translated_segment(pairs_of):
    match = "<mtc:matches><mtc:match><source>x</source><target>y</target></mtc:match></mtc:matches>"
    segments = "<segment><source>one</source><target>eins</target></segment><ignorable><source> </source></ignorable>"
    segments += "<segment><source><pc id='1'>two</pc><ph id='2'/></source><target>zwei</target></segment>"
    found, left_out = pairs_of("a.xlf", XLIFF2.format(match.replace("mtc:", "") + segments))
    assert (found, left_out) == ([("one", "eins"), ("two", "zwei")], {})
    found, _ = pairs_of("a.xlf", XLIFF2.format(match + segments).replace("<xliff ", "<xliff xmlns:mtc='m' ", 1))
    assert found == [("one", "eins"), ("two", "zwei")]


@pytest.mark.parametrize("end", ["\n", "\r\n"])
@pytest.mark.parametrize("before", ["", '#~| msgid "older"\n', '#~ msgctxt "menu"\n'])
@pytest.mark.parametrize(("after", "is_fuzzy"), [("", False), ("\n#, c-format, fuzzy\n", True)])
def test_the_flag_of_an_obsolete_message_is_not_that_of_the_next_one(pairs_of, end, before, after, is_fuzzy):
    obsolete = f'#, fuzzy\n{before}#~ msgid "old"\n#~ msgstr "alt"\n{after}'
    content = f'{PO}msgid "one"\nmsgstr "eins"\n\n{obsolete}msgid "two"\nmsgstr "zwei"\n'
    found, left_out = pairs_of("a.po", content.replace("\n", end))
    assert found == [("one", "eins"), ("two", "zwei")][: 2 - is_fuzzy]
    assert left_out == ({FUZZY: 1} if is_fuzzy else {})


def test_a_po_has_a_pair_for_each_translated_message_and_plural(pairs_of):
    content = (
        PO
        + """#: a.c:1
msgid "one"
msgstr "eins"

#, fuzzy
msgid "two"
msgstr "vielleicht"

msgid "three"
msgstr ""

msgctxt "menu"
msgid "a %d\\n"
"\\"file\\""
msgid_plural "%d files"
msgstr[0] "eine %d \\"Datei\\""
msgstr[1] "%d\\tDateien"

#~ msgid "old"
#~ msgstr "alt"
"""
    )
    found, left_out = pairs_of("a.po", content)
    assert found == [("one", "eins"), ('a %d "file"', 'eine %d "Datei"'), ("%d files", "%d Dateien")]
    assert left_out == {FUZZY: 1, UNTRANSLATED: 1}
    assert pairs_of("a.po", content, ("de", "en"))[0] == [pair[::-1] for pair in found]


def test_a_plural_with_one_form_is_that_of_many(pairs_of):
    content = PO.replace("de_DE", "ja") + 'msgid "a file"\nmsgid_plural "files"\nmsgstr[0] "ファイル"\n'
    assert pairs_of("a.po", content, ("en", "ja"))[0] == [("files", "ファイル")]


@pytest.mark.parametrize(
    ("asked", "found"),
    [
        (("en", "de"), ("B", "D")),  # the very language first, in any spelling
        (("en-us", "de"), ("A", "D")),
        (("eng", "German"), ("B", "D")),
        (("en-GB", "pt"), ("B", "P")),  # otherwise a variety, or what it is a variety of
        (("zh-Hans", "de"), ("C", "D")),
    ],
)
def test_languages_are_found_by_their_codes(pairs_of, asked, found):
    unit = '<tu><tuv xml:lang="{}"><seg>A</seg></tuv>' + tu(EN="B", DE="D", **{"zh-Hans-CN": "C", "pt_BR": "P"})[4:]
    assert pairs_of("a.tmx", TMX.format(unit.format("en-US")), asked)[0] == [found]


def test_another_variety_is_not_the_language(refused_of):
    said = refused_of("a.tmx", TMX.format(tu(fr="un", **{"de-AT": "eins"})))
    assert said == (
        "a.tmx: none of 1 units is translated between en and de; its languages are fr, de-AT; name two of them in the "
        "config"
    )


def test_code_in_a_text_is_left_out_and_marked_text_stays(pairs_of):
    text = "a <bpt i='1'>&lt;b&gt;<sub>c</sub></bpt>bold<ept i='1'>&lt;/b&gt;</ept>, <hi>high</hi>\n &amp;"
    text += "  <ph x='2'/>&#233;"
    assert pairs_of("a.tmx", TMX.format(tu(en=text, de="x")))[0] == [("a bold, high & é", "x")]
    text = "<g id='1'>a <mrk mtype='seg'>b</mrk></g><x id='2'/> <bpt id='3'>[</bpt>c"
    assert pairs_of("a.xlf", XLIFF.format(trans_unit(text, "y")))[0] == [("a b c", "y")]


@pytest.mark.parametrize(
    ("text", "codes"),
    [
        ("a b", ("<x ctype='lb'/>", "<ph type='lb'/>", "<ph>&lt;br&gt;</ph>", "<x equiv-text='&#10;'/>", "<br/>")),
        ("a b", ("<ept>&lt;/p&gt;</ept><bpt>&lt;p&gt;</bpt>", "<g ctype='x-html-p'/>", "<cp hex='0009'/>")),
        ("a b", ("<ph disp='&lt;br/&gt;'/>", "<ph>\n<sub>c</sub></ph><x ctype='lb'/>")),
        ("ab", ("<x ctype='bold'/>", "<ph>&lt;i&gt;</ph>")),
        ("acb", ("<g ctype='bold'>c</g>",)),
    ],
)
def test_a_code_that_is_a_line_break_separates_words_and_formatting_does_not(pairs_of, text, codes):
    for code in codes:
        segment = f"<segment><source>a{code}b</source><target>c</target></segment>"
        assert pairs_of("a.xliff", XLIFF2.format(segment))[0] == [(text, "c")]
        assert pairs_of("a.tmx", TMX.format(tu(en=f"a{code}b", de="c")))[0] == [(text, "c")]
        assert pairs_of("a.xlf", XLIFF.format(trans_unit(f"a{code}b", "c")))[0] == [(text, "c")]


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "iso-8859-1"])
def test_xml_says_its_encoding(pairs_of, encoding):
    declared = encoding.removesuffix("-sig")
    content = TMX.format(tu(en="one", de="schön")).replace('"1.0"', f'"1.0" encoding="{declared}"', 1)
    assert pairs_of("a.tmx", content.encode(encoding))[0] == [("one", "schön")]


def test_files_of_units_may_be_compressed_or_members_of_archives(tmp_path, pairs_of):
    content = TMX.format(tu(en="one", de="eins")).encode()
    assert pairs_of("a.TMX.gz", gzip.compress(content))[0] == [("one", "eins")]
    assert pairs_of("a.po.gz", gzip.compress((PO + 'msgid "one"\nmsgstr "eins"').encode()))[0] == [("one", "eins")]
    path = write_zip(tmp_path / "a.zip", ("b/a.tmx", content))
    assert read(f"{path}/b/a.tmx", f"{path}/b/a.tmx", tmp_path) == [("one", "eins")]


def test_the_units_of_a_large_file_are_not_held_in_memory():
    content = TMX.format("".join(tu(en=f"one {i}", de="eins") for i in range(5000))).encode()
    tracemalloc.start()
    assert sum(1 for _ in read_xml("a.tmx", BytesIO(content))) == 5000
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < len(content) + 500_000


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.tmx", TMX.format("<tu><tuv>"), "is not well-formed XML (mismatched tag: line 3, column 80);"),
        ("a.tmx", TMX.format(tu(en="&nbsp;", de="b")), "is not well-formed XML (undefined entity &nbsp;: line 3"),
        ("a.tmx", '<!DOCTYPE t [\n<!ENTITY a "ha">]><t>&a;</t>', "has declared entities (<!ENTITY ...>), which"),
        ("a.tmx", '<!DOCTYPE t [<!ENTITY a SYSTEM "file:///etc/passwd">]><t>&a;</t>', "has declared entities"),
        ("a.tmx", '<?xml version="1.0" encoding="Shift_JIS"?><t/>', "its encoding is not read (multi-byte"),
        ("a.tmx", gzip.compress(b"x", mtime=0), "is compressed by gzip; unpack it"),
        ("a.tmx.gz", gzip.compress(b"x" * 99, mtime=0)[:-9], "damaged or cut short"),
    ],
)
def test_xml_that_is_not_read_is_refused(refused_of, name, content, message):
    assert refused_of(name, content).startswith(f"{name}: {message}")


@pytest.mark.parametrize(
    ("content", "line", "message"),
    [
        (PO + 'msgid "a"\nmsgstr b\n', 7, "is not PO ('msgstr b' is no keyword with a text in quotes); correct"),
        *((PO + f'msgid "a{text}\nmsgstr "b"\n', 6, "is not PO (") for text in ('" "', '\\"', '\\x"')),
        (PO + 'msgid "a"\nmsgstr[0] "b"\nmsgstr[0] "c"', 8, "is not PO ('msgstr' is out of its place)"),
        (PO + 'msgid "a"', 7, "is not PO (a msgid without a msgstr)"),
        (PO.replace("Language", "X") + 'msgid "a"\nmsgstr "b"', 8, "no header names the language: write"),
        (b'msgid "\xff"', 1, "byte 0xff is not UTF-8"),
    ],
)
def test_what_is_not_po_is_refused_with_its_line(refused_of, content, line, message):
    assert refused_of("a.po", content).startswith(f"a.po, line {line}: {message}")


def test_a_file_of_units_is_given_for_both_languages(tmp_path):
    path, lines = write(tmp_path / "a.tmx", TMX.format(tu(en="a", de="b")).encode()), write(tmp_path / "a.de", b"b\n")
    assert refused(path, lines, tmp_path) == f"{path}: has both languages of a corpus; give it for each of the two"

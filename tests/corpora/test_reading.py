import html
import re

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from packed import GERMAN, MODES, PACK, read, refused, write, write_tar, write_zip

from transformer.corpora.reading import Asked

UNUSUAL = "\0\r\v\f\x1c\x85\u2028\u2029\xa0\u200b\ufeff \tb&<>\"'é漢😀"
PAIRS = [("one", "eins"), ("two", "zwei")]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder for all examples of Hypothesis, which cannot use a fixture anew for each example."""
    return tmp_path_factory.mktemp("reading")


def sgml(*documents):
    """An SGML set of documents, each (docid, {seg id: text})."""
    body = "".join(
        f'<doc sysid="ref" docid="{name}">\n<p>\n'
        + "".join(f'<seg id="{number}"> {html.escape(text)} </seg>\n' for number, text in segments.items())
        + "</p>\n</doc>\n"
        for name, segments in documents
    )
    return f'<refset setid="x" srclang="any" trglang="de">\n{body}</refset>\n'.encode()


def lines(alphabet):
    return st.lists(st.tuples(alphabet, alphabet), min_size=1, max_size=5)


TEXT = st.text(st.sampled_from(UNUSUAL) | st.characters(exclude_characters="\n", exclude_categories=["Cs"]), max_size=9)
# A CR at the end of a line belongs to the line's end, and a byte order mark at the start of a file is not text.
KEPT = TEXT.filter(lambda text: not text.endswith("\r") and not text.startswith("\ufeff"))


def content(texts, end=b"\n"):
    return b"".join(text.encode() + end for text in texts)


@settings(max_examples=80)
@given(lines(KEPT), st.sampled_from(["", *MODES, ".zip"]), st.sampled_from(list(PACK)), st.booleans(), st.booleans())
def test_files_and_members_of_archives_keep_every_character(folder, pairs, archive, suffix, windows, mark):
    ends = b"\r\n" if windows else b"\n"
    one, other = (PACK[suffix](b"\xef\xbb\xbf" * mark + content(each, ends)) for each in zip(*pairs, strict=True))
    if archive:
        writer = write_zip if archive == ".zip" else write_tar
        path = writer(folder / f"x{archive}", (f"./a/s{suffix}", one), ("b", b"no"), (f"t{suffix}", other))
        assert read(path / f"a/s{suffix}", path / f"t{suffix}", folder) == pairs
    else:
        assert read(write(folder / f"s{suffix}", one), write(folder / f"t{suffix}", other), folder) == pairs


@settings(max_examples=40)
@given(lines(KEPT.filter(lambda text: "\t" not in text)), st.sampled_from(list(PACK)))
def test_columns_of_one_table_keep_every_character(folder, pairs, suffix):
    rows = [f"{target}\t0.5\t{source}\tend" for source, target in pairs]
    path = write(folder / f"x.tsv{suffix}", PACK[suffix](content(rows)))
    assert read(f"{path}#3", f"{path}#1", folder) == pairs


@given(lines(TEXT))
@example([("AT&T &copy 1 < 2", "&amp;lt;")])
def test_sgml_resolves_entities_and_keeps_every_character_but_ascii_white_space(folder, pairs):
    for side, texts in zip("st", zip(*pairs, strict=True), strict=True):
        write(folder / f"{side}.sgm", sgml(("a", dict(enumerate(texts, start=1)))))
    expected = [tuple(re.sub("[ \t\n\f\r]+", " ", text).strip(" ") for text in pair) for pair in pairs]
    assert read(folder / "s.sgm", folder / "t.sgm", folder) == expected


@pytest.mark.parametrize("name", ["a.xml", "a.en", "a.txt.gz", "x.zip/a.XML"])
@pytest.mark.parametrize(
    "head",
    ["", "\ufeff", "<?xml version='1.0'?>\r\n", "<!-- <seg id='9'> -->\n", "<!DOCTYPE mteval SYSTEM 'a.dtd'>", "\n\n"],
)
def test_a_set_is_told_by_its_head_whatever_its_name(tmp_path, name, head):
    tags = "<MTEVAL>\n<{}set setid='x'>\n<doc docid='1'>\n<url>u</url>\n<title>t</title>\n<seg id='1'> {} </seg></doc>"
    sides = []
    for side, segment in (("src", "a &amp; b"), ("ref", "c")):
        (folder := tmp_path / side).mkdir()
        content = (head + tags.format(side, segment)).encode()
        if "zip" in name:
            write_zip(folder / "x.zip", ("a.XML", content))
        else:
            write(folder / name, PACK[".gz"](content) if name.endswith(".gz") else content)
        sides.append(folder / name)
    assert read(*sides, tmp_path) == [("a & b", "c")]
    plain = write(tmp_path / "plain.de", b"<3 c\n")
    assert read(sides[0], plain, tmp_path) == [("a & b", "<3 c")]


DATASET = "<dataset><doc id='1'><src lang='en'><seg id='1'>a</seg></src><ref lang='de'><seg id='1'>b</seg></ref></doc>"
MEMORY = "<?xml version='1.0'?><tmx><tu><tuv lang='en'><seg>a</seg></tuv><tuv lang='de'><seg>b</seg></tuv></tu></tmx>"


@pytest.mark.parametrize("content", [DATASET, MEMORY])
def test_an_xml_file_with_both_languages_is_named_for_both(tmp_path, content):
    path = write(tmp_path / "a.xml", content.encode())
    assert read(path, path, tmp_path) == [("a", "b")]
    assert read(path, path, tmp_path, asked=Asked(("German", "en-US"))) == [("b", "a")]


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("<set><doc docid='1'><seg id='1'>a</seg></doc></set>", "has one language; name a text for each of en and de"),
        ("plain text", "has no segments in en, nor in any other language; correct the location"),
        (DATASET.replace("'de'", "'fr'"), "has no segments in de, only in en, fr; correct the location"),
    ],
)
def test_an_xml_file_that_lacks_one_of_both_languages_is_refused(tmp_path, content, said):
    path = write(tmp_path / "a.xml", content.encode())
    assert refused(path, path, tmp_path) == f"{path}: {said}"


@pytest.mark.parametrize("name", ["train.tags.en", "a.xml", "a.en.gz"])
def test_other_markup_is_refused(tmp_path, name):
    text = b"<url>u</url>\n<keywords>k</keywords>\nHello\n"
    path = write(tmp_path / name, PACK[".gz" if name.endswith(".gz") else ""](text))
    plain = write(tmp_path / "plain", b"Hallo\n")
    for sides in ((path, plain), (plain, path)):
        assert f"{path}: begins with markup, <" in refused(*sides, tmp_path)


@pytest.mark.parametrize("name", ["old", "old.sgm"])
def test_a_file_whose_lines_end_with_cr_alone_is_refused_with_the_remedy(tmp_path, name):
    path = write(tmp_path / name, b"a\rb\rc\r")
    told = f"{path}: its lines end with CR alone; end them with LF: tr '\\r' '\\n' < OLD > NEW"
    assert refused(path, path, tmp_path) == told


@pytest.mark.parametrize(("one", "other"), [(0, 4), (3, 2), (1, 2)])
def test_sides_of_different_length_are_refused_with_both_counts(tmp_path, one, other):
    source, target = write(tmp_path / "s", b"a\n" * one), write(tmp_path / "t", b"b\n" * other)
    message = f"{source} has {one} lines and {target} has {other}; make their numbers of lines equal"
    assert refused(source, target, tmp_path) == message


def test_tables_and_plain_files_can_be_paired_and_a_row_without_the_column_is_refused(tmp_path):
    table, plain = write(tmp_path / "a.tsv", b"x\tone\ny\ttwo\n"), write(tmp_path / "a.de", GERMAN)
    other = write_zip(tmp_path / "b.zip", ("b.tsv", b"eins\nzwei\n"))
    assert read(f"{table}#2", f"{other}/b.tsv#1", tmp_path) == read(f"{table}#2", plain, tmp_path) == PAIRS
    write(table, b"a\tb\tc\nd\te\n")
    for sides in ((f"{table}#1", f"{table}#3"), (plain, f"{table}#3")):
        assert refused(*sides, tmp_path) == f"{table}#3, line 2: no column 3, only 2; correct the line"


def test_sgml_is_aligned_by_document_and_segment_and_the_first_that_only_one_has_is_named(tmp_path):
    source = write(tmp_path / "s.sgm", sgml(("a", {1: "x", 2: "y"}), ("b", {1: "z"})))
    target = write(tmp_path / "t.sgm", sgml(("b", {1: "Z"}), ("a", {2: "Y", 1: "X"})))
    assert read(source, target, tmp_path) == [("x", "X"), ("y", "Y"), ("z", "Z")]
    target = write(tmp_path / "t.sgm", sgml(("a", {1: "x", 2: "y"}), ("c", {1: "z"})))
    message = f"{source} and {target}: only one has segment 1 of document 'b'"
    assert refused(source, target, tmp_path).startswith(message)

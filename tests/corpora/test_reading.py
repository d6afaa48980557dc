import gzip
import html
import random
import re
from pathlib import Path

import pytest
import sentencepiece
from hypothesis import example, given, settings
from hypothesis import strategies as st
from packed import GERMAN, MODES, PACK, read, refused, write, write_tar, write_zip

from transformer.corpora import reading
from transformer.corpora.reading import Asked, open_pairs
from transformer.support.files import InputError
from transformer.text.subwords import Subwords, learn

UNUSUAL = "\0\r\v\f\x1c\x85\u2028\u2029\xa0\u200b\ufeff \tb&<>\"'é漢😀"
ASKED = Asked(("en", "de"))
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


def test_sgml_is_aligned_by_document_and_segment(tmp_path):
    source = write(tmp_path / "s.sgm.gz", gzip.compress(sgml(("a", {1: "a 1", 2: "a\n2"}), ("b", {1: "b 1"}))))
    target = write(tmp_path / "t.sgml", sgml(("b", {1: "B 1"}), ("a", {2: "A 2", 1: "A 1"})))
    assert read(source, target, tmp_path) == [("a 1", "A 1"), ("a 2", "A 2"), ("b 1", "B 1")]
    plain = write(tmp_path / "t.de", b"x\ny\nz\n")
    assert read(source, plain, tmp_path) == [("a 1", "x"), ("a 2", "y"), ("b 1", "z")]


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
@pytest.mark.parametrize(
    "text", ["<url>u</url>\n<keywords>k</keywords>\nHello\n", "<doc id='1'>\nHello\n", "<?xml?><s>a</s>"]
)
def test_other_markup_is_refused(tmp_path, name, text):
    path = write(tmp_path / name, PACK[".gz" if name.endswith(".gz") else ""](text.encode()))
    plain = write(tmp_path / "plain", b"Hallo\n")
    for sides in ((path, plain), (plain, path)):
        assert f"{path}: begins with markup, <" in refused(*sides, tmp_path)


def test_the_first_pairs_come_before_a_large_file_is_read(tmp_path):
    noise = random.Random(1).randbytes(500_000).replace(b"\n", b"").hex().encode()
    packed = gzip.compress(b"first\nsecond\n" + noise.replace(b"00", b"\n"))
    path = write(tmp_path / "a.gz", packed[: len(packed) // 2])
    with open_pairs(str(path), str(path), Path, tmp_path, ASKED) as pairs:
        assert [next(pairs), next(pairs)] == [("first", "first"), ("second", "second")]
        with pytest.raises(InputError, match="damaged or cut short"):
            list(pairs)


@pytest.mark.parametrize(
    ("bytes_", "texts"),
    [
        (b"", []),
        (b"\xef\xbb\xbf", []),
        (b"\n", [""]),
        (b"a", ["a"]),
        (b"a\n\nb", ["a", "", "b"]),
        (b"a\r\nb\r\r\n\rc\r", ["a", "b\r", "\rc\r"]),
        (b"\xef\xbb\xbf\n\xef\xbb\xbfa\n", ["", "\ufeffa"]),
        (b"\xef\xbb\xbf\xef\xbb\xbfa", ["\ufeffa"]),
        ("a\u2028b\u2029c\x85d\ve\ff\tg\xa0h\0i".encode(), ["a\u2028b\u2029c\x85d\ve\ff\tg\xa0h\0i"]),
    ],
)
def test_only_a_line_feed_ends_a_line(tmp_path, bytes_, texts):
    path = write(tmp_path / "a", bytes_)
    assert [source for source, _ in read(path, path, tmp_path)] == texts


def test_a_bad_byte_is_reported_with_file_and_line(tmp_path):
    good, bad = write(tmp_path / "good", b"a\nb\n"), gzip.compress(b"a\nb\xe9\n")
    path = write_tar(tmp_path / "x.tar", ("a.en.gz", bad))
    for name in (write(tmp_path / "bad.gz", bad), path / "a.en.gz", write(tmp_path / "bad", b"a\nb\xe9\n")):
        assert refused(good, name, tmp_path).startswith(f"{name}, line 2: byte 0xe9 is not UTF-8; convert")


def test_a_file_without_line_feeds_is_not_read_into_memory(tmp_path, monkeypatch):
    monkeypatch.setattr(reading, "LONGEST_LINE", 10)
    good = write(tmp_path / "good", b"123456789\n123456789")
    assert len(read(good, good, tmp_path)) == 2
    path = write(tmp_path / "old", b"a\na\rb\rc\rd\re\rf\n")
    assert f"{path}, line 2: 10 bytes without a line feed" in refused(path, path, tmp_path)


@pytest.mark.parametrize("name", ["old", "old.sgm"])
def test_a_file_whose_lines_end_with_cr_alone_is_refused_with_the_remedy(tmp_path, name):
    path = write(tmp_path / name, b"a\rb\rc\r")
    told = f"{path}: its lines end with CR alone; end them with LF: tr '\\r' '\\n' < OLD > NEW"
    assert refused(path, path, tmp_path) == told


@given(st.integers(0, 4), st.integers(0, 4))
def test_sides_of_different_length_are_refused_with_both_counts(folder, one, other):
    source, target = write(folder / "s", b"a\n" * one), write(folder / "t", b"b\n" * other)
    if one == other:
        assert read(source, target, folder) == [("a", "b")] * one
    else:
        message = refused(source, target, folder)
        assert message == f"{source} has {one} lines and {target} has {other}; make their numbers of lines equal"


def test_tables_and_plain_files_can_be_paired_and_a_row_without_the_column_is_refused(tmp_path):
    table, plain = write(tmp_path / "a.tsv", b"x\tone\ny\ttwo\n"), write(tmp_path / "a.de", GERMAN)
    other = write_zip(tmp_path / "b.zip", ("b.tsv", b"eins\nzwei\n"))
    assert read(f"{table}#2", f"{other}/b.tsv#1", tmp_path) == read(f"{table}#2", plain, tmp_path) == PAIRS
    write(table, b"a\tb\tc\nd\te\n")
    for sides in ((f"{table}#1", f"{table}#3"), (plain, f"{table}#3")):
        assert refused(*sides, tmp_path) == f"{table}#3, line 2: no column 3, only 2; correct the line"


def test_sgml_sides_with_different_segments_are_refused_and_the_first_difference_is_named(tmp_path):
    source = write(tmp_path / "s.sgm", sgml(("a", {1: "x", 2: "y"}), ("b", {1: "z"})))
    target = write(tmp_path / "t.sgm", sgml(("a", {1: "x", 2: "y"}), ("c", {1: "z"})))
    message = f"{source} and {target}: only one has segment 1 of document 'b'"
    assert refused(source, target, tmp_path).startswith(message)
    shorter = write(tmp_path / "u.sgm", sgml(("a", {1: "x", 2: "y"})))
    assert "segment 1 of document 'b'" in refused(shorter, source, tmp_path)


@pytest.mark.parametrize(
    ("character", "as_subwords", "is_blank_in_word_counts"),
    [
        ("\t", "blank", True),
        ("\r", "blank", True),
        ("\f", "blank", True),
        ("\xa0", "blank", True),
        ("\u2028", "blank", True),
        ("\u2029", "blank", True),
        ("\u3000", "blank", True),
        ("\u200b", "blank", False),
        ("\ufeff", "blank", False),
        ("\v", "dropped", True),
        ("\x1c", "dropped", True),
        ("\x85", "kept", True),
        ("\0", "kept", False),
    ],
)
def test_subwords_and_word_counts_treat_unusual_characters_as_the_docs_say(
    subwords, character, as_subwords, is_blank_in_word_counts
):
    def normalized(text):
        return sentencepiece.SentencePieceProcessor(model_file=str(subwords)).normalize(text)

    same_as = {"blank": "big cat", "dropped": "bigcat", "kept": f"▁big{character}cat"}[as_subwords]
    assert normalized(f"big{character}cat") == (same_as if as_subwords == "kept" else normalized(same_as))
    assert f"big{character}cat".split() == (["big", "cat"] if is_blank_in_word_counts else [f"big{character}cat"])


def test_nul_is_never_in_a_vocabulary_and_always_unknown(tmp_path, text):
    """Therefore pairs with NUL are removed from train and refused in dev and test."""
    learn([line.replace(" ", "\0", 1) for line in text(0, 300)], 60, tmp_path / "x.model")
    model = Subwords(tmp_path / "x.model")
    assert "\0" not in "".join(model.processor.id_to_piece(list(range(len(model)))))
    assert model.decode([ids[:-1] for ids in model.encode(["big\0cat"])]) == ["big ⁇ cat"]

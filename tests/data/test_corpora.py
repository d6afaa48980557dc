import json
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from transformer.config import Cleaning, Files, LibreOfficeHelp, Package, Packages, Shares
from transformer.data import corpora
from transformer.data.corpora import (
    clean,
    fetch_libreoffice_help,
    part_of,
    prepare_files,
    prepare_libreoffice_help,
    segments,
    split_sentences,
)
from transformer.files import InputError, read_lines

HELP = LibreOfficeHelp(
    origin="libreoffice-help",
    description="Help",
    licence="MPL-2.0",
    packages={"en": Package("help-en", "0"), "de": Package("help-de", "1")},
    cleaning=Cleaning(words=(2, 8), ratio=2.0),
    shares=Shares(dev=0.2, test=0.2),
)
LANGUAGES = {"name": "help", "source": "en", "target": "de"}
PARTS = ("train", "dev", "test")


def test_segments_are_the_paragraphs_and_headings_that_have_an_id():
    page = """<p>Menu</p><h1 id="hd_id1" dir="auto"> A <a href="x">big</a>\n\ttitle </h1>
    <p id="bm_id2">no</p><div id="par_id3">no</div><p id="par_id4"> </p><p id="par_id5"><img alt="Icon"></p>
    <p id="par_idN6">one<br>two&nbsp;&lt;three&gt; H<sub>2</sub>O</p>
    <td><p id="par_id7">cell</p></td><p id="par_id7">again</p>"""
    assert segments(page) == {"hd_id1": "A big title", "par_idN6": "one two <three> H2O", "par_id7": "cell"}


def test_a_phrase_in_variants_is_read_in_its_default():
    other = '<span hidden="true" id="MACx" class="MAC"><span class="emph">Command</span> too</span>'
    default = '<span hidden="true" id="defaultx"><span class="emph">Ctrl</span></span>'
    page = f'<p id="par_id1">Press <span class="switchinline">{other}{default}</span>+F{other}.</p>'
    assert segments(page) == {"par_id1": "Press Ctrl+F."}


@given(st.text(max_size=30))
def test_a_segment_is_one_line_without_tabs(text):
    for segment in segments(f'<p id="par_id1">{text}</p>').values():
        assert segment == " ".join(segment.split())


def test_fetched_segments_stand_in_a_file_with_their_language(tmp_path, monkeypatch):
    pages = {"a.html": '<p id="par_id1">Größe\tund\nForm</p>'.encode(), "b.html": b'<h2 id="hd_id1">B</h2>'}
    monkeypatch.setattr(corpora, "fetch_pages", lambda packages: dict.fromkeys(packages, pages))
    fetch_libreoffice_help(Packages(HELP.packages), tmp_path / "help.tsv")
    segments = ["a.html\tpar_id1\tGröße und Form", "b.html\thd_id1\tB"]
    assert read_lines(tmp_path / "help.tsv") == [f"{lang}\t{line}" for lang in ("en", "de") for line in segments]


def test_sentences_are_split_where_both_sides_have_as_many():
    pairs = split_sentences('Close it. "Saved" is shown! Why?', "Schließen. „Gespeichert“ erscheint! Warum?")
    assert pairs == [
        ("Close it.", "Schließen."),
        ('"Saved" is shown!', "„Gespeichert“ erscheint!"),
        ("Why?", "Warum?"),
    ]
    assert split_sentences("One. Two.", "Eins und zwei.") == [("One. Two.", "Eins und zwei.")]


def test_each_step_of_cleaning_removes_its_own():
    pairs = [
        ("a b", "x y"),
        ("b c", "b c"),
        ("a", "x y"),
        ("a b c d e f g h i", "x y z x y z x y"),
        ("c d", "x y z x y"),
        ("a b", "z z"),
        ("d e", "x y"),
        ("e f", "x y z x"),
    ]
    kept, removed = clean(pairs, HELP.cleaning)
    assert kept == [0, 6, 7]
    assert list(removed.items()) == [("untranslated", 1), ("words", 2), ("ratio", 1), ("duplicate source", 1)]


@given(st.lists(st.tuples(st.text("ab ", max_size=12), st.text("ab ", max_size=12))))
def test_cleaning_keeps_or_counts_each_pair_and_is_idempotent(pairs):
    kept, removed = clean(pairs, HELP.cleaning)
    assert len(kept) + sum(removed.values()) == len(pairs)
    left = [pairs[position] for position in kept]
    assert clean(left, HELP.cleaning)[0] == list(range(len(left)))


def test_a_page_goes_to_a_part_by_the_shares():
    pages = [f"text/{number}.html" for number in range(2000)]
    counts = {part: [part_of(page, Shares(dev=0.1, test=0.2)) for page in pages].count(part) for part in PARTS}
    assert counts["dev"] == pytest.approx(200, abs=40)
    assert counts["test"] == pytest.approx(400, abs=60)


def test_a_test_page_stays_one_when_the_share_of_dev_changes():
    pages = [f"text/{number}.html" for number in range(200)]
    narrow, wide = ([part_of(page, Shares(dev, 0.2)) == "test" for page in pages] for dev in (0.05, 0.5))
    assert narrow == wide


@pytest.fixture
def origin(tmp_path):
    """Forty pages, each with a sentence of its own, two of one segment, and one that all pages share."""
    path = tmp_path / "help.tsv"
    lines = []
    for language, word in (("en", "page"), ("de", "Seite")):
        for number in range(40):
            head = f"{language}\t{number}.html\tpar_id"
            lines += [f"{head}1\tThe {word} {number}.", f"{head}2\tThe {word}"]
            lines.append(f"{head}3\tOne {word} {number}. Two {word} {number}.")
        lines.append(f"{language}\tonly.html\tpar_{language}\tThe {word} left")
    path.write_text("\n".join(lines) + "\n")
    return path


def read_parts(folder):
    return {part: [read_lines(folder / f"{part}.{side}") for side in ("source", "target")] for part in PARTS}


def test_parts_share_no_page_and_no_source(tmp_path, origin):
    prepare_libreoffice_help(HELP, origin, tmp_path / "ende", **LANGUAGES)
    parts = read_parts(tmp_path / "ende")
    sources = [source for part in PARTS for source in parts[part][0]]
    assert len(sources) == len(set(sources)) == 40 * 3 + 1
    for part, (source, target) in parts.items():
        assert [line.replace("page", "Seite") for line in source] == target
        assert {part_of(f"{line.split()[2][:-1]}.html", HELP.shares) for line in source if line[-1] == "."} == {part}


def test_the_record_describes_and_counts(tmp_path, origin):
    prepare_libreoffice_help(HELP, origin, tmp_path / "ende", **LANGUAGES)
    record = json.loads((tmp_path / "ende" / "corpus.json").read_text())
    pairs = {part: len(lines[0]) for part, lines in read_parts(tmp_path / "ende").items()}
    removed = {
        "segment without counterpart": 2,
        "untranslated": 0,
        "words": 0,
        "ratio": 0,
        "duplicate source": 39,
    }
    head = {"corpus": "help", "licence": "MPL-2.0", "description": "Help", "source": "en", "target": "de"}
    assert record == head | {"pairs": pairs, "removed": removed}


def test_a_corpus_is_the_same_when_made_again(tmp_path, origin):
    for name in ("once", "again"):
        prepare_libreoffice_help(HELP, origin, tmp_path / name, **LANGUAGES)
    assert read_parts(tmp_path / "once") == read_parts(tmp_path / "again")


def test_an_unknown_language_names_those_there_are(tmp_path, origin):
    with pytest.raises(InputError, match="no language 'xx'; it has en, de"):
        prepare_libreoffice_help(HELP, origin, tmp_path, name="help", source="en", target="xx")


def test_a_damaged_file_of_segments_is_refused_with_its_line(tmp_path, origin):
    origin.write_text("de\ta.html\tpar_id1\tText\nde\ta.html\tpar")
    with pytest.raises(InputError, match=r"help\.tsv, line 2: 3 columns"):
        prepare_libreoffice_help(HELP, origin, tmp_path, **LANGUAGES)


def test_a_part_that_stays_empty_is_refused_before_anything_is_written(tmp_path, origin):
    corpus = replace(HELP, shares=Shares(dev=0.0, test=0.2))
    with pytest.raises(InputError, match=r"corpus help: dev has no pair left.*duplicate source: 39"):
        prepare_libreoffice_help(corpus, origin, tmp_path / "ende", **LANGUAGES)
    assert not (tmp_path / "ende").exists()


@pytest.fixture
def own(tmp_path):
    """An own corpus: in each part a good pair, an untranslated one, and the good one again."""
    paths = {}
    for part in PARTS:
        paths[part] = tuple(str(tmp_path / f"{part}.{language}") for language in ("en", "de"))
        for path, text in zip(paths[part], ("a b\nb c\na b\n", "x y\nb c\nx y\n"), strict=True):
            (tmp_path / path).write_text(text)
    return Files(origin="files", description="Own", licence="CC0-1.0", cleaning=HELP.cleaning, **paths)


def test_of_own_files_train_alone_is_cleaned(tmp_path, own):
    prepare_files(own, tmp_path / "own", **LANGUAGES)
    whole = [["a b", "b c", "a b"], ["x y", "b c", "x y"]]
    assert read_parts(tmp_path / "own") == {"train": [["a b"], ["x y"]], "dev": whole, "test": whole}
    record = json.loads((tmp_path / "own" / "corpus.json").read_text())
    assert record["pairs"] == {"train": 1, "dev": 3, "test": 3}
    assert record["removed"] == {"untranslated": 1, "words": 0, "ratio": 0, "duplicate source": 1}


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"x\n", "dev.en has 3 lines and .*dev.de has 1"),
        (b"x\n\xff\nz\n", "dev.de, line 2: byte 0xff is not UTF-8"),
    ],
)
def test_bad_files_are_refused(tmp_path, own, content, message):
    (tmp_path / "dev.de").write_bytes(content)
    with pytest.raises(InputError, match=message):
        prepare_files(own, tmp_path / "own", **LANGUAGES)


def test_empty_files_are_refused(tmp_path, own):
    for path in own.test:
        (tmp_path / path).write_text("")
    with pytest.raises(InputError, match="are empty"):
        prepare_files(own, tmp_path / "own", **LANGUAGES)


def test_a_train_that_cleaning_empties_is_refused(tmp_path, own):
    with pytest.raises(InputError, match=r"train has no pair left.*words: 2"):
        prepare_files(replace(own, cleaning=Cleaning((5, 9), 2.0)), tmp_path / "own", **LANGUAGES)

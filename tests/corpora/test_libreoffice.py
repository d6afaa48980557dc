import json
from hashlib import sha256
from pathlib import Path

import pytest
from debs import TEXT, deb

from transformer.corpora import libreoffice
from transformer.corpora.cleaning import Cleaning
from transformer.corpora.debian import POOL, DebianPackage
from transformer.corpora.libreoffice import DebianPackages, LibreOfficeHelp, Shares, part_of, segments, split_sentences
from transformer.corpora.parts import PARTS, Given
from transformer.support.files import InputError, read_lines

HELP = LibreOfficeHelp(
    origin="libreoffice-help",
    description="Help",
    licence="MPL-2.0",
    packages={"en": DebianPackage("help-en", "0"), "de": DebianPackage("help-de", "1")},
    cleaning=Cleaning((2, 8), 2.0, "remove", "source"),
    shares=Shares(dev=0.2, test=0.2),
)
LANGUAGES = {"name": "help", "source": "en", "target": "de"}


def test_segments_are_the_paragraphs_and_headings_that_have_an_id():
    page = """<p>Menu</p><h1 id="hd_id1" dir="auto"> A <a href="x">big</a>\n\ttitle </h1>
    <p id="bm_id2">no</p><div id="par_id3">no</div><p id="par_id4"> </p><p id="par_id5"><img alt="Icon"></p>
    <p id="par_idN6">one<br>two&nbsp;&lt;three&gt; H<sub>2</sub>O</p>
    <td><p id="par_id7">cell</p></td><p id="par_id7">again</p>"""
    assert segments(page) == {"hd_id1": "A big title", "par_idN6": "one two <three> H2O", "par_id7": "cell"}


def test_the_default_of_a_phrase_with_variants_is_read():
    other = '<span hidden="true" id="MACx" class="MAC"><span class="emph">Command</span> too</span>'
    default = '<span hidden="true" id="defaultx"><span class="emph">Ctrl</span></span>'
    page = f'<p id="par_id1">Press <span class="switchinline">{other}{default}</span>+F{other}.</p>'
    assert segments(page) == {"par_id1": "Press Ctrl+F."}


def test_fetched_segments_are_written_to_a_file_with_their_language(tmp_path):
    pages = {"a.html": '<p id="par_id1">Größe\tund\nForm</p>'.encode(), "b.html": b'<h2 id="hd_id1">B</h2>'}
    digest = sha256(b"".join(pages.values())).hexdigest()
    packages = {language: DebianPackage(f"help-{language}", digest) for language in ("en", "de")}
    (tmp_path / POOL).mkdir(parents=True)
    for package in packages.values():
        (tmp_path / POOL / f"{package.name}_1_all.deb").write_bytes(deb({TEXT + name: pages[name] for name in pages}))
    libreoffice.fetch(DebianPackages(packages), tmp_path / "help.tsv", tmp_path)
    segments = ["a.html\tpar_id1\tGröße und Form", "b.html\thd_id1\tB"]
    assert read_lines(tmp_path / "help.tsv") == [f"{lang}\t{line}" for lang in ("en", "de") for line in segments]


def test_the_error_for_missing_help_pages_names_the_alternatives(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    expected = r"apt-get cannot be run .*another experiment, such as config/quick-captions\.yaml, .*`origin: files`"
    with pytest.raises(InputError, match=expected):
        libreoffice.fetch(libreoffice.DebianPackages(HELP.packages), tmp_path / "help.tsv")


def test_segments_are_split_if_both_sides_have_the_same_number_of_sentences():
    pairs = split_sentences('Close it. "Saved" is shown! Why?', "Schließen. „Gespeichert“ erscheint! Warum?")
    assert pairs == [("Close it.", "Schließen."), ('"Saved" is shown!', "„Gespeichert“ erscheint!"), ("Why?", "Warum?")]
    assert split_sentences("One. Two.", "Eins und zwei.") == [("One. Two.", "Eins und zwei.")]


def test_a_page_is_in_the_part_that_it_had_in_released_results():
    parts = {number: part_of(f"text/{number}.html", Shares(dev=0.1, test=0.2)) for number in range(24)}
    held_out = {number: part for number, part in parts.items() if part != "train"}
    assert held_out == {3: "dev", 6: "test", 9: "test", 18: "test"}


@pytest.fixture
def origin(tmp_path):
    """Forty pages, each with its own sentence, a segment of two sentences, and a segment that all pages share."""
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


def prepare(corpus, text, folder, **names):
    corpus.write(folder, Given(Path("corpus.yaml"), folder, text=text), **names)


def read_parts(folder):
    return {part: [read_lines(folder / f"{part}.{side}") for side in ("source", "target")] for part in PARTS}


def test_parts_share_no_page_and_no_source(tmp_path, origin):
    prepare(HELP, origin, tmp_path / "ende", **LANGUAGES)
    parts = read_parts(tmp_path / "ende")
    sources = [source for part in PARTS for source in parts[part][0]]
    assert len(sources) == len(set(sources)) == 40 * 3 + 1
    for part, (source, target) in parts.items():
        assert [line.replace("page", "Seite") for line in source] == target
        assert {part_of(f"{line.split()[2][:-1]}.html", HELP.shares) for line in source if line[-1] == "."} == {part}


def test_longer_pairs_of_dev_and_test_pages_go_to_their_own_part(tmp_path):
    def line(language, number, words):
        return f"{language}\t{number}.html\tpar_id1\t{' '.join([language] * (words - 1))} {number}."

    text = tmp_path / "help.tsv"
    text.write_text("\n".join(line(language, n, 2 + n % 30) for language in ("en", "de") for n in range(400)))
    prepare(HELP, text, tmp_path / "ende", **LANGUAGES)
    parts = read_parts(tmp_path / "ende")
    longer = [read_lines(tmp_path / f"ende/longer.{side}") for side in ("source", "target")]
    assert longer[1] == [pair.replace("en ", "de ") for pair in longer[0]]
    pages = {n: part_of(f"{n}.html", HELP.shares) for n in range(400)}
    number = [int(pair.split()[-1][:-1]) for pair in longer[0]]
    assert number == [n for n, part in pages.items() if part != "train" and 2 + n % 30 > 8]
    assert all(len(pair.split()) <= 8 for sides in parts.values() for pair in sides[0])


def test_the_record_describes_the_corpus_and_counts_its_pairs(tmp_path, origin):
    prepare(HELP, origin, tmp_path / "ende", **LANGUAGES)
    record = json.loads((tmp_path / "ende" / "corpus.json").read_text())
    pairs = {part: len(lines[0]) for part, lines in read_parts(tmp_path / "ende").items()}
    removed = {
        "segment without counterpart": 2,
        "empty side": 0,
        "NUL character": 0,
        "identical sides": 0,
        "words": 0,
        "ratio": 0,
        "duplicate source": 39,
    }
    head = {"corpus": "help", "licence": "MPL-2.0", "description": "Help", "source": "en", "target": "de"}
    assert record == head | {"pairs": pairs, "read": sum(pairs.values()) + 41, "removed": removed}


def test_a_damaged_file_of_segments_and_an_unknown_language_are_refused(tmp_path, origin):
    with pytest.raises(InputError, match=r"corpora\.help\.packages: unknown language xx; known: en, de"):
        prepare(HELP, origin, tmp_path, name="help", source="en", target="xx")
    origin.write_text("de\ta.html\tpar_id1\tText\nde\ta.html\tpar")
    with pytest.raises(InputError, match=r"help\.tsv, line 2: 3 columns"):
        prepare(HELP, origin, tmp_path, **LANGUAGES)

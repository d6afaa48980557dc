import gzip
import json
from dataclasses import replace
from pathlib import Path

import pytest

from transformer.corpora.cleaning import Cleaning
from transformer.corpora.parts import PARTS, Given, write_whole
from transformer.corpora.texts import Files
from transformer.support.files import InputError, read_lines

LANGUAGES = {"name": "own", "source": "en", "target": "de"}
STRICT = Cleaning((2, 8), 2.0, "remove", "source")


def read_parts(folder):
    return {part: [read_lines(folder / f"{part}.{side}") for side in ("source", "target")] for part in PARTS}


@pytest.fixture
def own(tmp_path):
    """A corpus of files. Each part has a good pair, an untranslated pair, and the good pair again."""
    paths = {}
    for part in PARTS:
        paths[part] = ({language: str(tmp_path / f"{part}.{language}") for language in ("en", "de")},)
        for path, text in zip(paths[part][0].values(), ("a b\nb c\na b\n", "x y\nb c\nx y\n"), strict=True):
            (tmp_path / path).write_text(text)
    return Files(origin="files", cleaning=STRICT, **paths)


@pytest.fixture
def prepare(tmp_path):
    """Writes a corpus to the folder `own`. Downloaded files are in `downloads`."""
    given = Given(Path("corpus.yaml"), tmp_path / "downloads")
    return lambda corpus, **names: corpus.write(tmp_path / "own", given, **LANGUAGES | names)


def test_the_parts_of_a_corpus_appear_together_or_not_at_all(tmp_path, own):
    given, folder = Given(Path("corpus.yaml"), tmp_path), tmp_path / "own"
    write_whole(own, folder, given, **LANGUAGES)
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    assert {"corpus.json", "dev.source", "train.target"} <= before.keys()
    (tmp_path / "dev.en").write_text("other text\nb c\na b\n")  # dev is written before train fails
    (tmp_path / "train.en").write_text("a b\n")
    with pytest.raises(InputError, match="has 1 lines"):
        write_whole(own, folder, given, **LANGUAGES)
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == before


def test_a_corpus_does_not_overwrite_the_text_that_it_is_read_from(tmp_path, own):
    mine = tmp_path / "train.source"
    mine.write_text("a b\nb c\na b\n")
    (tmp_path / "link.en").symlink_to(mine)
    named = replace(own, train=({**own.train[0], "en": str(tmp_path / "link.en")},))
    with pytest.raises(InputError, match="would be overwritten by a part of the corpus; choose another --output-dir"):
        write_whole(named, tmp_path, Given(Path("corpus.yaml"), tmp_path), **LANGUAGES)
    assert mine.read_text() == "a b\nb c\na b\n"


def test_only_train_is_cleaned(tmp_path, own, prepare):
    prepare(own)
    whole = [["a b", "b c", "a b"], ["x y", "b c", "x y"]]
    assert read_parts(tmp_path / "own") == {"train": [["a b"], ["x y"]], "dev": whole, "test": whole}
    record = json.loads((tmp_path / "own" / "corpus.json").read_text())
    assert record["pairs"] == {"train": 1, "dev": 3, "test": 3}
    assert record["removed"] == {
        **{"empty side": 0, "NUL character": 0, "identical sides": 1, "words": 0, "ratio": 0},
        "duplicate source": 1,
    }


def test_the_texts_of_a_part_follow_each_other_and_may_be_files_or_downloads(tmp_path, own, prepare):
    folder = tmp_path / "downloads/example.org"
    folder.mkdir(parents=True)
    (folder / "more.en.gz").write_bytes(gzip.compress(b"more text\n"))
    (folder / "more.de.gz").write_bytes(gzip.compress(b"mehr Text\n"))
    more = {language: f"http://example.org/more.{language}.gz" for language in ("en", "de")}
    prepare(replace(own, train=(more, *own.train)))
    assert read_parts(tmp_path / "own")["train"] == [["more text", "a b"], ["mehr Text", "x y"]]
    assert sorted(path.name for path in (tmp_path / "own").iterdir()) == [
        "corpus.json",
        *sorted(f"{part}.{side}" for part in PARTS for side in ("source", "target")),
    ]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"x\n", "dev.en has 3 lines and .*dev.de has 1"),
        (b"x\n\xc2\xa0\nz\n", "dev.en and .*dev.de, line 2: empty side"),
        (b"x\ny\n\0z\n", "dev.en and .*dev.de, line 3: NUL character"),
        ("x\n \u200b\u200f\n".encode(), "dev.en and .*dev.de, line 2: no subword; correct or remove this pair"),
        (b"x\ny\n" + b"z " * 4097 + b"\n", "dev.en and .*dev.de, line 3: more than 4096 words on a side; correct or"),
    ],
)
def test_bad_dev_text_is_refused_before_train_is_read(tmp_path, own, prepare, content, message):
    (tmp_path / "dev.de").write_bytes(content)
    (tmp_path / "train.en").unlink()
    with pytest.raises(InputError, match=message):
        prepare(own)
    assert not list((tmp_path / "own").glob("[!u]*"))  # nothing but the empty folder `unpacked`


def test_pairs_of_dev_and_test_that_another_part_has_are_counted(tmp_path, own, prepare, capsys):
    (tmp_path / "dev.en").write_text(
        "ａ  b\nb c\nother\n", encoding="utf-8"
    )  # its first pair has the subwords of train's
    prepare(own)
    warnings = [line.partition("; ")[0] for line in capsys.readouterr().err.splitlines() if "flatter" in line]
    assert warnings == [
        f"warning: own: {one} has {count} of the 3 pairs of {part}, so scores flatter"
        for one, count, part in (("train", 1, "dev"), ("train", 2, "test"), ("dev", 3, "test"))
    ]


def test_a_part_of_which_train_has_all_pairs_is_refused_with_a_remedy(tmp_path, own, prepare):
    (tmp_path / "dev.en").write_text("x\ny\nz\n")
    said = r"^corpora\.own: train has 3 of the 3 pairs of test, so scores flatter; remove .* or leave out test and hold"
    with pytest.raises(InputError, match=said):
        prepare(replace(own, cleaning=Cleaning()))


@pytest.mark.parametrize(
    ("source", "target"), [("a.en", "a.en"), ("a.en", "./a.en"), ("a.en", "link"), 2 * ("a.tsv#2",)]
)
def test_one_text_for_both_languages_is_refused(tmp_path, monkeypatch, own, source, target):
    monkeypatch.chdir(tmp_path)
    Path("link").symlink_to("a.en")
    with pytest.raises(InputError, match=rf"^corpora\.own\.dev\[0\]: {source} is named for both en and de; name"):
        replace(own, dev=({"en": source, "de": target},)).files("own", "en", "de")


@pytest.mark.parametrize(
    "sides", [("a.tsv#1", "a.tsv#2"), 2 * ("a.tmx",), 2 * ("x.zip/a.po.gz",), ("x.zip/a", "x.zip/b")]
)
def test_one_file_with_both_languages_may_be_named_twice(own, sides):
    text = dict(zip(("en", "de"), sides, strict=True))
    assert replace(own, dev=(text,)).files("own", "en", "de")


def test_a_train_part_that_cleaning_empties_is_refused_with_the_counts_of_each_step(tmp_path, own, prepare):
    with pytest.raises(InputError, match=r"train has no pair left; relax its cleaning, .* \(.*words: 2\)"):
        prepare(replace(own, cleaning=replace(STRICT, words=(5, 9))))
    for path in own.test[0].values():
        (tmp_path / path).write_text("")
    with pytest.raises(InputError, match="corpus own: test has no text; its files have no lines, or no units"):
        prepare(own)


def test_a_wrong_location_and_a_language_that_a_text_lacks_are_reported_with_their_key(own):
    dev = replace(own, dev=({"en": "pairs.tsv#1", "de": "pairs.tsv"},))
    with pytest.raises(InputError, match=r"^corpora.own.dev\[0\].de: location 'pairs.tsv': add a column, as in pairs"):
        dev.files("own", "en", "de")
    with pytest.raises(InputError, match=r"own\.train\[0\]: unknown language EN; did you mean en\?"):
        own.files("own", "EN", "de")
    with pytest.raises(InputError, match=r"unknown language de; known: en .*; name a file that has both languages"):
        replace(own, train=({"en": "a.tmx"},)).files("own", "en", "de")


def test_units_without_a_translation_are_counted_for_train_and_told_for_dev(tmp_path, own, prepare, capsys):
    path = tmp_path / "memory.po"
    path.write_text('msgid ""\nmsgstr "Language: de"\n\nmsgid "a b"\nmsgstr "x y"\n\nmsgid "c d"\nmsgstr ""\n')
    (tmp_path / "other.po").write_text(path.read_text().replace("x y", "x z"))
    both, other = (({"en": str(each), "de": str(each)},) for each in (path, tmp_path / "other.po"))
    prepare(replace(own, train=both, dev=other))
    record = json.loads((tmp_path / "own" / "corpus.json").read_text())
    assert (record["read"], record["pairs"]) == (2, {"train": 1, "dev": 1, "test": 3})
    assert list(record["removed"].items())[:2] == [("no translation", 1), ("empty side", 0)]
    assert "own: 1 units of dev are left out (no translation)\n" in capsys.readouterr().err

import gzip
import json
from dataclasses import replace
from types import SimpleNamespace

import pytest

from transformer.corpora.cleaning import Cleaning
from transformer.corpora.fetch import Download
from transformer.corpora.kinds import corpus_files
from transformer.corpora.parts import PARTS
from transformer.corpora.plain import PlainText
from transformer.corpora.self_training import ParsedText, SelfTraining
from transformer.corpora.texts import Files, prepare_files
from transformer.corpora.treebank import Treebank
from transformer.experiment.downloads import downloads_of
from transformer.support.files import InputError, read_lines

LANGUAGES = {"name": "own", "source": "en", "target": "de"}
STRICT = Cleaning((2, 8), 2.0, "remove", "source")


def read_parts(folder):
    return {part: [read_lines(folder / f"{part}.{side}") for side in ("source", "target")] for part in PARTS}


@pytest.fixture
def own(tmp_path):
    """An own corpus: in each part a good pair, an untranslated one, and the good one again."""
    paths = {}
    for part in PARTS:
        paths[part] = ({language: str(tmp_path / f"{part}.{language}") for language in ("en", "de")},)
        for path, text in zip(paths[part][0].values(), ("a b\nb c\na b\n", "x y\nb c\nx y\n"), strict=True):
            (tmp_path / path).write_text(text)
    return Files(origin="files", cleaning=STRICT, **paths)


@pytest.fixture
def prepare(tmp_path):
    """Prepares a corpus in the folder `own`; `downloads` holds what URLs gave."""
    return lambda corpus, **names: prepare_files(corpus, tmp_path / "downloads", tmp_path / "own", **LANGUAGES | names)


def test_of_own_files_train_alone_is_cleaned(tmp_path, own, prepare):
    prepare(own)
    whole = [["a b", "b c", "a b"], ["x y", "b c", "x y"]]
    assert read_parts(tmp_path / "own") == {"train": [["a b"], ["x y"]], "dev": whole, "test": whole}
    record = json.loads((tmp_path / "own" / "corpus.json").read_text())
    assert record["pairs"] == {"train": 1, "dev": 3, "test": 3}
    assert record["removed"] == {
        **{"empty side": 0, "NUL character": 0, "identical sides": 1, "words": 0, "ratio": 0},
        "duplicate source": 1,
    }


def test_texts_come_one_after_the_other_from_files_and_downloads(tmp_path, own, prepare):
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
        (b"x\n\xff\nz\n", "dev.de, line 2: byte 0xff is not UTF-8"),
        (b"x\n\xc2\xa0\nz\n", "dev.en and .*dev.de, line 2: empty side"),
        (b"x\ny\n\0z\n", "dev.en and .*dev.de, line 3: NUL character"),
        (b"", "dev.en has 3 lines and .*dev.de has 0"),
    ],
)
def test_bad_dev_text_is_refused_before_train_is_read(tmp_path, own, prepare, content, message):
    (tmp_path / "dev.de").write_bytes(content)
    (tmp_path / "train.en").unlink()
    with pytest.raises(InputError, match=message):
        prepare(own)
    assert not list((tmp_path / "own").glob("[!u]*"))  # but the empty folder for what is unpacked


def test_an_empty_part_is_refused(tmp_path, own, prepare):
    for path in own.test[0].values():
        (tmp_path / path).write_text("")
    with pytest.raises(InputError, match="corpus own: test has no text; its files are empty"):
        prepare(own)


def test_a_train_that_cleaning_empties_is_refused_with_what_each_step_removed(own, prepare):
    with pytest.raises(InputError, match=r"train has no pair left.*words: 2"):
        prepare(replace(own, cleaning=replace(STRICT, words=(5, 9))))


def test_a_language_that_a_text_lacks_is_named(own, prepare):
    with pytest.raises(InputError, match=r"corpora\.own\.dev\[0\]: unknown language fr; known: en, de"):
        prepare(own, target="fr")


def test_a_location_that_is_none_is_told_with_its_key(own):
    task = SimpleNamespace(source="en", target="de")
    with pytest.raises(InputError, match=r"corpora\.own\.dev\[0\]\.de: location 'pairs\.tsv': add a column"):
        corpus_files(replace(own, dev=({"en": "pairs.tsv#1", "de": "pairs.tsv"},)), "own", task)


def experiment(corpus, downloads):
    task = SimpleNamespace(corpus="c", source="en", target="de", models=("base",))
    unused = SimpleNamespace(corpus="unused", models=())
    return SimpleNamespace(tasks={"ende": task, "enfr": unused}, corpora={"c": corpus}, downloads=downloads)


def test_an_experiment_needs_the_downloads_of_the_tasks_that_have_models(own):
    archive = "http://a.org/x.tgz"
    corpus = replace(own, train=({"en": f"{archive}/in.en", "de": f"{archive}/in.de"},))
    known = {archive: Download(5, "0" * 64), "http://a.org/other": Download(6, "1" * 64)}
    assert downloads_of(experiment(corpus, known)) == {archive: known[archive]}
    with pytest.raises(InputError, match=r"corpora\.c: http://a\.org/x\.tgz has no size and SHA-256"):
        downloads_of(experiment(corpus, {}))


def test_an_experiment_needs_the_downloads_of_the_text_that_its_parsers_learn_from(own):
    task = {name: SimpleNamespace(corpus=name, source="en", target="de", models=()) for name in ("ende", "wsj", "semi")}
    task["semi"].models = ("parser",)
    wsj = Treebank("treebank", "", "", "http://a/t.zip/w", (1, 2), (3, 3), (4, 4), PlainText("ende", 5, (1, 9), 1), {})
    text = replace(own, train=({"en": "http://a/x.en", "de": "http://a/x.de"},))
    known = {
        url: Download(5, "0" * 64) for url in ("http://a/t.zip", "http://a/x.en", "http://a/x.de", "http://a/more")
    }
    two = SelfTraining("self-training", "", "", "wsj", "parser", 1, 1.0)
    one = ParsedText("parsed-text", "", "", "wsj", ("http://a/more",), 1)
    for corpus, wanted in ((two, {*known} - {"http://a/more"}), (one, {"http://a/t.zip", "http://a/more"})):
        corpora = {"ende": text, "wsj": wsj, "semi": corpus}
        assert {*downloads_of(SimpleNamespace(tasks=task, corpora=corpora, downloads=known))} == wanted


@pytest.mark.parametrize(("trees", "files"), [("my/wsj", []), ("http://a.org/t.zip/wsj", ["http://a.org/t.zip"])])
def test_of_a_treebank_the_archive_is_a_file_and_a_folder_is_none(trees, files):
    plain = PlainText("ende", 5, (1, 9), 1)
    corpus = Treebank("treebank", "trees", "mine", trees, (1, 2), (3, 3), (4, 4), plain, {})
    assert corpus_files(corpus, "wsj", None) == files

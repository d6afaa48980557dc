import dataclasses
import json
import re
import zipfile
from collections import Counter
from pathlib import Path

import pytest

from transformer.corpora.parts import Given
from transformer.corpora.plain import PlainText
from transformer.corpora.treebank import Treebank, read_treebank
from transformer.support.files import InputError, read_lines
from transformer.trees.linear import linearise, repair
from transformer.trees.penn import read_tree, read_trees
from transformer.trees.tree import tags, walk, words

SECTIONS = {"00/wsj_0001.mrg": "a", "01/wsj_0100.mrg": "b", "02/wsj_0201.mrg": "c", "03/WSJ_0300.MRG": "d"}


@pytest.fixture
def treebank(tmp_path: Path):
    for name, word in SECTIONS.items():
        (tmp_path / "mrg" / name).parent.mkdir(parents=True)
        (tmp_path / "mrg" / name).write_text(f"( (S (NN {word})) )\n")
    (tmp_path / "mrg/02/wsj_0200.prd").write_text("no tree")
    return tmp_path


@pytest.mark.parametrize(
    ("first", "last", "found"), [(1, 99, "a"), (1, 399, "abcd"), (100, 201, "bc"), (300, 300, "d")]
)
def test_files_are_found_in_any_folder_and_read_by_their_numbers(treebank, first, last, found):
    for path in list((treebank / "mrg").rglob("*1.mrg")):
        path.rename(treebank / path.name)  # now 0001 and 0201 are found before 0100, as in nltk's sample
    (treebank / "linked").mkdir()
    (treebank / "linked/mrg").symlink_to(treebank / "mrg")
    (treebank / "wsj_0001.mrg").replace(treebank / "linked/wsj_0001.mrg")
    (treebank / "wsj_0201.mrg").replace(treebank / "linked/wsj_0201.mrg")
    assert "".join(words(tree)[0] for tree in read_treebank(treebank / "linked", first, last)[0]) == found


def test_all_faults_of_all_files_and_parts_are_listed_together(tmp_path, corpus, pierre):
    wsj = tmp_path / "wsj"
    (wsj / "wsj_0001.mrg").write_text(f"(())\n{pierre[0]}\n( (S (NN\u00a0dog)) )\n( (S (NP (NN a)) the) )\n( (S (NN b")
    (wsj / "wsj_0004.mrg").write_bytes(b"( (S (NN \xe9)) )\n")
    (wsj / "wsj_0006.mrg").write_text("(S (NN \u200b))\n" + "(ROOT)\n" * 30)
    with pytest.raises(InputError) as error:
        write(corpus, tmp_path, tmp_path)
    head, *faults, more = str(error.value).split("\n  ")
    assert (head, len(faults), more) == ("the trees have 36 faults:", 20, "and 16 more")
    places = [fault.removeprefix(f"{wsj}/").partition(": ")[0] for fault in faults[:7]]
    lines = [1, *range(3 + pierre[0].count("\n"), 6 + pierre[0].count("\n"))]
    assert places[:4] == [f"wsj_0001.mrg, line {line}" for line in lines]
    assert places[4:] == ["wsj_0004.mrg, line 1", "wsj_0006.mrg, tree 1", "wsj_0006.mrg, line 2"]
    assert not (tmp_path / "train.source").exists()


@pytest.fixture
def corpus(tmp_path, pierre):
    """A treebank of six files with one tree each: three are train, two dev, one test.

    It is in a folder and in an archive, which also has another file.
    """
    folder = tmp_path / "wsj"
    folder.mkdir()
    with zipfile.ZipFile(tmp_path / "treebank.zip", "w") as archive:
        archive.writestr("treebank/raw/wsj_0001.mrg", "no tree")
        for number in range(1, 7):
            (folder / f"wsj_{number:04}.mrg").write_text(pierre[0])
            archive.writestr(f"treebank/wsj/0{number % 2}/{'WSJ' if number == 1 else 'wsj'}_{number:04}.MRG", pierre[0])
    plain = PlainText("ende", 1, (1, 9), 1)
    sizes = {"train": 3, "dev": 2, "test": 1}
    return Treebank("treebank", str(folder), (1, 3), (4, 5), (6, 6), "articles", "LDC", plain, sizes)


def write(corpus, folder, downloads):
    corpus.write(folder, Given(Path("corpus.yaml"), downloads), name="wsj", source="words", target="trees")


@pytest.mark.parametrize("location", ["wsj", "treebank.zip/treebank/wsj"])
def test_a_corpus_has_sources_targets_and_trees(tmp_path, corpus, pierre, location):
    corpus = dataclasses.replace(corpus, trees=str(tmp_path / location))
    write(corpus, tmp_path, tmp_path)
    tree = read_tree(pierre[1])
    for part, count in corpus.sentences.items():
        assert read_lines(tmp_path / f"{part}.source") == ["Pierre will try to join our board ."] * count
        assert read_lines(tmp_path / f"{part}.target") == [linearise(tree)] * count
    assert read_trees(tmp_path / "dev.trees") == [tree] * 2
    assert read_trees(tmp_path / "test.trees") == [tree]
    assert not (tmp_path / "train.trees").exists()
    record = json.loads((tmp_path / "corpus.json").read_text())
    assert (record["pairs"], record["licence"]) == (corpus.sentences, "LDC")


def test_the_config_can_make_tags_or_words_the_leaves_and_add_constituents_to_train(tmp_path, corpus, pierre):
    sentence, starts = (
        "Pierre will try to join our board .",
        {"tags": "(S (NP NNP )NP (VP MD ", "words": "(S (NP Pierre )"},
    )
    for form, start in starts.items():
        write(dataclasses.replace(corpus, leaves=form), tmp_path, tmp_path)
        [line] = set(read_lines(tmp_path / "train.target"))
        assert line == linearise(read_tree(pierre[1]), form)
        assert line.startswith(start)
        assert json.loads((tmp_path / "corpus.json").read_text())["leaves"] == form
    write(dataclasses.replace(corpus, constituents=(2, 3)), tmp_path, tmp_path)
    assert read_lines(tmp_path / "train.source") == [*3 * [sentence], "join our board", "our board"]
    assert read_lines(tmp_path / "train.target")[-2:] == ["(VP XX (NP XX XX )NP )VP", "(NP XX XX )NP"]
    assert read_trees(tmp_path / "dev.trees") == [read_tree(pierre[1])] * 2
    assert json.loads((tmp_path / "corpus.json").read_text())["pairs"]["train"] == 5


@pytest.mark.parametrize(
    ("sizes", "said"),
    [
        ({"train": 3, "dev": 2, "test": 1}, "2 train, 2 dev, 0 test trees, not 3 train, 2 dev, 1"),
        (None, "0 test trees, and"),
    ],
)
def test_a_treebank_that_lacks_trees_is_refused_with_the_numbers(tmp_path, corpus, sizes, said):
    (tmp_path / "wsj/wsj_0002.mrg").unlink()
    (tmp_path / "wsj/wsj_0006.mrg").write_text("")
    with pytest.raises(InputError, match=rf"^corpora\.wsj: .*/wsj has .*{said}.*; copy the treebank again, or correct"):
        write(dataclasses.replace(corpus, sentences=sizes), tmp_path / "out", tmp_path)
    assert not (tmp_path / "out").exists()


@pytest.mark.agreement(witness="NLTK")
def test_the_wsj_sample_is_read_completely(wsj_sample):
    trees, faults = read_treebank(wsj_sample, 1, 199)
    assert not faults
    assert len(trees) == 3914
    assert sum(len(words(tree)) for tree in trees) == 94_084  # 100,676 minus 6,592 with the tag -NONE-
    labels: Counter[str] = Counter()
    for tree in trees:
        labels.update(item[1:] for item in walk(tree) if isinstance(item, str) and item[0] == "(")
        assert repair(linearise(tree).split(), words(tree), tags(tree)) == (tree, False)
        assert read_tree(str(tree)) == tree
        assert "-NONE-" not in tags(tree)
    assert not any(mark in label for label in labels for mark in "-=")
    assert len(labels) == 27
    assert labels.total() == 73_461
    text = "".join(path.read_text() for path in sorted(wsj_sample.rglob("*.mrg")))
    empty = 1
    while empty:
        text, empty = re.subn(r"\((-NONE- )?[^() ]+\s*\)", "", text)
    assert Counter(re.findall(r"\(([^-=()\s]+)[^()\s]*\s*(?=\()", text)) == labels - Counter(TOP=labels["TOP"])

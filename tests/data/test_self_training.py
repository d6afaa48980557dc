import json
from pathlib import Path

import pytest

from transformer.config import SelfTraining
from transformer.data.self_training import write_corpus
from transformer.files import InputError, read_lines

TREE = "(S (NP (PRP we)) (VP (VBP go)))"
FORM = "(S (NP XX )NP (VP XX )VP )S"


@pytest.fixture
def gold(tmp_path: Path):
    folder = tmp_path / "wsj"
    folder.mkdir()
    for part in ("train", "dev", "test"):
        (folder / f"{part}.source").write_text("we go\n")
        (folder / f"{part}.target").write_text(f"{FORM}\n")
    for part in ("dev", "test"):
        (folder / f"{part}.trees").write_text(f"{TREE}\n")
    return folder


def write(gold: Path, sentences: list[str], parses: list[str], copies: int = 3):
    (gold / "plain.source").write_text("".join(f"{line}\n" for line in sentences))
    (gold / "plain.parses").write_text("".join(f"{line}\n" for line in parses))
    folder = gold.parent / "semi"
    corpus = SelfTraining("self-training", "generated English, parsed", "Apache-2.0", "wsj", "parser", copies)
    write_corpus(
        corpus,
        gold,
        gold / "plain.source",
        gold / "plain.parses",
        folder,
        name="semi",
        source="words",
        target="trees",
    )
    return folder


def test_gold_trees_stand_as_often_as_asked_before_the_parses(gold):
    folder = write(gold, ["they sleep", "he"], [FORM, "(S XX )S"])
    assert read_lines(folder / "train.source") == ["we go"] * 3 + ["they sleep", "he"]
    assert read_lines(folder / "train.target") == [FORM] * 4 + ["(S XX )S"]


def test_dev_and_test_are_those_of_the_gold_corpus(gold):
    folder = write(gold, ["they sleep"], [FORM])
    for name in ("dev.source", "dev.target", "dev.trees", "test.source", "test.target", "test.trees"):
        assert (folder / name).read_bytes() == (gold / name).read_bytes()


def test_malformed_parses_are_left_out_and_counted(gold):
    parses = [FORM, "(S (NP XX )NP (VP XX )VP", "(S XX )S", "", FORM]
    folder = write(gold, ["they sleep", "they sleep", "they sleep", "they sleep", ""], parses)
    record = json.loads((folder / "corpus.json").read_text())
    assert record["pairs"] == {"train": 4, "dev": 1, "test": 1}
    assert record["removed"] == {"malformed": 4}


def test_a_parse_for_each_sentence_is_needed(gold):
    with pytest.raises(InputError, match="2 lines"):
        write(gold, ["they sleep", "he"], [FORM])


def test_no_copy_of_the_gold_trees_is_a_fault():
    assert SelfTraining("self-training", "", "", "", "", 0).faults() == ["copies: 0 is not positive"]

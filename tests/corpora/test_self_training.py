import gzip
import json
import re
from collections import Counter
from pathlib import Path

import pytest

from transformer.corpora.parts import Given
from transformer.corpora.self_training import ParsedText, SelfTraining, best_parses, parsed_text
from transformer.support.files import InputError, read_lines, write_json

TREE = "(S (NP (PRP we)) (VP (VBP go)))"
FORM = "(S (NP XX )NP (VP XX )VP )S"
ENDED = "(S (NP XX )NP (VP XX )VP"
TEXT = {"description": "generated English, parsed", "licence": "Apache-2.0", "gold": "wsj"}


@pytest.fixture
def gold(tmp_path: Path):
    folder = tmp_path / "wsj"
    folder.mkdir()
    for part in ("train", "dev", "test"):
        (folder / f"{part}.source").write_text("we go\n")
        (folder / f"{part}.target").write_text(f"{FORM}\n")
    for part in ("dev", "test"):
        (folder / f"{part}.trees").write_text(f"{TREE}\n")
    write_json(folder / "corpus.json", {"leaves": "XX"})
    return folder


def given(gold, sentences, parses, sure=None):
    """The gold trees, with plain sentences and their parses. By default all parses have the same log P."""
    columns = (sentences, parses, sure or [-0.1] * len(parses))
    paths = [gold / name for name in ("plain.source", "plain.translation", "plain.logp")]
    for path, lines in zip(paths, columns, strict=True):
        path.write_text("".join(f"{line}\n" for line in lines))
    return Given(Path("corpus.yaml"), gold, gold=gold, parses=paths[1], log_probabilities=paths[2])


def chosen(gold, sentences, parses, sure=None, keep=1.0):
    """The result of `best_parses` for these lines."""
    lines = given(gold, sentences, parses, sure)
    return best_parses(gold, lines.parses, lines.log_probabilities, keep)


def write(corpus, given):
    folder = given.gold.parent / "semi"
    corpus.write(folder, given, name="semi", source="words", target="trees")
    return folder


def self_training(copies=3, keep=1.0):
    return SelfTraining("self-training", **TEXT, parser="parser", copies=copies, keep=keep)


def test_copies_of_the_gold_trees_come_before_the_parses_and_malformed_ones_are_counted(gold):
    sentences, parses = ["they sleep", "he", "they sleep", "", ""], [FORM, "(S XX )S", ENDED, "", FORM]
    folder = write(self_training(), given(gold, sentences, parses))
    assert read_lines(folder / "train.source") == ["we go"] * 3 + ["they sleep", "he"]
    assert read_lines(folder / "train.target") == [FORM] * 4 + ["(S XX )S"]
    for name in ("dev.source", "dev.target", "dev.trees", "test.source", "test.target", "test.trees"):
        assert (folder / name).read_bytes() == (gold / name).read_bytes()
    record = json.loads((folder / "corpus.json").read_text())
    assert record["pairs"] == {"train": 5, "dev": 1, "test": 1}
    assert record["removed"] == {"malformed": 3, "less sure": 0}


def test_the_share_of_parses_with_the_highest_log_p_is_kept_in_order(gold):
    sentences = [f"they sleep{number}" for number in range(6)]
    sure = ["-0.5", "-0.1", "-0.7", "-0.2", "-0.01", "-0.3"]
    parses = [FORM] * 4 + [ENDED, FORM]
    pairs, removed = chosen(gold, sentences, parses, sure, keep=0.5)
    assert pairs == [("they sleep1", FORM), ("they sleep3", FORM)]
    assert removed == {"malformed": 1, "less sure": 3}


def test_parses_whose_leaves_are_other_words_are_malformed(gold):
    parses = ["(S we sleep )S", "(S we slept )S", "(S (NP we )NP (VP go )VP"]
    sentences = ["we sleep", "we sleep", "we go"]
    assert len(chosen(gold, sentences, parses)[0]) == 2
    write_json(gold / "corpus.json", {"leaves": "words"})
    assert chosen(gold, sentences, parses) == ([("we sleep", "(S we sleep )S")], {"malformed": 2, "less sure": 0})


@pytest.mark.parametrize("name", ["parsed.mrg", "parsed.mrg.gz"])
def test_parsed_text_is_read_like_the_treebank(gold, name):
    text = "( (S (NP-SBJ (PRP they)) (VP (VBP sleep) (-NONE- *))) )\n\n(ROOT (FRAG (RB naïvely)))\n"
    packed = gzip.compress(text.encode()) if name.endswith(".gz") else text.encode()
    (gold / name).write_bytes(packed)
    corpus = ParsedText("parsed-text", **TEXT, trees=(f"{gold}/{name}",), copies=2)
    folder = write(corpus, Given(Path("corpus.yaml"), gold, gold=gold))
    assert read_lines(folder / "train.source") == ["we go"] * 2 + ["they sleep", "naïvely"]
    assert read_lines(folder / "train.target") == [FORM] * 3 + ["(FRAG XX )FRAG"]
    assert json.loads((folder / "corpus.json").read_text())["pairs"] == {"train": 4, "dev": 1, "test": 1}


def read(gold, **files):
    """The pairs and the counts of left out lines, from files of parsed text with this content."""
    for name, text in files.items():
        (gold / name).write_text(text)
    removed = Counter()
    corpus = ParsedText("parsed-text", **TEXT, trees=tuple(f"{gold}/{name}" for name in files), copies=2)
    return list(parsed_text(corpus, gold, gold, gold, removed)), removed


FAILED = [
    *("", " \u00a0", "()", "( )", "(())", "( (()) )", "(FAIL)", "(ROOT)", "(TOP (S))", "(ROOT (S (NP ) (VP )))"),
    *("NONE", "SENTENCE_SKIPPED_OR_UNPARSABLE", "(TOP NONE)", "(NN dog)", "(FAIL the dog)", "(S1 (S (-NONE- *)))"),
]


def test_lines_that_a_parser_failed_to_parse_are_left_out_and_counted(gold):
    pairs, removed = read(gold, a="".join(f"{TREE}\n{failed}\n( {TREE} )\n" for failed in FAILED), b=f"{TREE}\nNONE\n")
    assert pairs == [("we go", FORM)] * (2 * len(FAILED) + 1)
    assert removed == {"failed parse": len(FAILED) + 1}


def test_all_faults_in_parsed_text_are_reported_together_with_file_and_line(gold):
    with pytest.raises(InputError) as error:
        read(gold, a=f"{TREE}\n(S (NP (NN a) cat))\n(S ((NN cat)))\n", b=f"{TREE}\n(())\n{TREE}(S (NP (PRP we\n")
    head, *faults = str(error.value).split("\n  ")
    assert head == "the trees have 3 faults:"
    starts = [
        f"{gold}/a, line 2: 'cat' in (NP ...) has no tag",
        f"{gold}/a, line 3: (...) has no label",
        f"{gold}/b, line 3: the br",
    ]
    assert [fault[: len(start)] for fault, start in zip(faults, starts, strict=True)] == starts
    assert faults[-1].endswith("; write parsed text as one tree a line")


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("( (S\n(NP we)))\n", r"line 1: .* is not closed; .*text as one tree a line"),
        ("( (S\n (NP (PRP we))\n (VP (VBP go))))\n" * 900, r"^the trees have 1,001 faults.*and 981 more"),
        ("\n", "holds no tree"),
        ("we go\n", "holds no tree"),
    ],
)
def test_a_file_without_whole_trees_on_its_lines_is_refused(gold, text, fault):
    with pytest.raises(InputError, match=re.compile(fault, re.DOTALL)):
        read(gold, parsed=text)

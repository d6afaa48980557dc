import dataclasses
import json
import re
import tracemalloc
import zipfile
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from transformer.corpora.plain import PlainText, plain_sentences, tokenise
from transformer.corpora.treebank import Treebank, read_treebank, write_corpus
from transformer.support.files import InputError, read_lines
from transformer.trees.linear import linearise, repair
from transformer.trees.penn import read_mrg, read_tree, read_trees
from transformer.trees.tree import Leaf, Tree, tags, walk, words

PIERRE = """
( (S
    (NP-SBJ-1 (NNP Pierre) )
    (VP (MD will)
      (VP (VB try)
        (S
          (NP-SBJ (-NONE- *-1) )
          (VP (TO to)
            (VP (VB join)
              (NP (PRP$ our) (NN board) ))))
        (SBAR=2 (-NONE- 0)
          (S (-NONE- *T*-2) ))))
    (. .) ))
"""
TREE = (
    "(S (NP (NNP Pierre)) (VP (MD will) (VP (VB try) "
    "(S (VP (TO to) (VP (VB join) (NP (PRP$ our) (NN board))))))) (. .))"
)
SECTIONS = {"00/wsj_0001.mrg": "a", "01/wsj_0100.mrg": "b", "02/wsj_0201.mrg": "c", "03/WSJ_0300.MRG": "d"}

LEAVES = st.builds(
    Leaf,
    st.sampled_from(["NN", "PRP$", "-LRB-", "``", ",", ":", "#", "VBG|NN"]),
    st.one_of(
        st.sampled_from(["-LRB-", "-RRB-", "1\\/2", "\\", "*", "10\N{NO-BREAK SPACE}000", "naïve"]),
        st.text(st.characters(exclude_categories=["C"], exclude_characters="() "), min_size=1, max_size=5),
    ),
)


def constituents(children):
    labels = st.sampled_from(["S", "NP", "VP", "PRN", "ADVP|PRT", "X"])
    return st.builds(Tree, labels, st.lists(children, min_size=1, max_size=4).map(tuple))


TREES = constituents(st.recursive(LEAVES, constituents, max_leaves=12))


@st.composite
def annotated(draw, item):
    """The text of a tree with functions, traces and blanks put in."""
    blank = draw(st.sampled_from([" ", "\n    ", "\r\n", "\t"]))
    if isinstance(item, Leaf):
        return f"({item.tag}{blank}{item.word})"
    text = f"({item.label}" + draw(st.sampled_from(["", "-SBJ", "-SBJ-1", "=2", "-LOC=2-3", "-TPC-1"]))
    for child in item.children:
        trace = draw(
            st.sampled_from(["", "", "(-NONE- *T*-1)", "(NP-SBJ (-NONE- *) )", "(SBAR (-NONE- 0) (S (-NONE- *)))"])
        )
        text += blank + trace + draw(annotated(child))
    return text + draw(st.sampled_from([")", " )"]))


def read(text):
    return list(read_mrg("wsj_0001.mrg", text))


def test_a_tree_of_the_treebank_loses_traces_functions_and_its_outer_bracket():
    assert [str(tree) for tree in read(PIERRE * 2)] == [TREE] * 2


@given(TREES.flatmap(lambda tree: st.tuples(st.just(tree), annotated(tree))), st.sampled_from(["", "TOP", "ROOT"]))
def test_what_is_put_into_a_tree_is_taken_out_and_nothing_else(pair, root):
    tree, text = pair
    assert read(f"{text}\n( {text} )({root} {text})") == [tree] * 3
    assert read(f"{tree}") == [tree]


@pytest.mark.parametrize(
    ("text", "tree"),
    [
        ("( (NP (NP (NNS cats)) (SBAR (-NONE- *ICH*-1))) )", "(NP (NP (NNS cats)))"),
        ("( (NP-TTL-1 (-LRB- -LRB-) (X (-RRB- -RRB-))) )", "(NP (-LRB- -LRB-) (X (-RRB- -RRB-)))"),
        ("( (S (UH yes)) (. .) )", "(TOP (S (UH yes)) (. .))"),
        ("( (UH yes) )", "(TOP (UH yes))"),
        ("( (TOP (S (UH yes)) (-NONE- *)))", "(S (UH yes))"),
    ],
)
def test_unary_chains_bracket_words_and_a_second_constituent_stay(text, tree):
    assert [str(tree) for tree in read(text)] == [tree]


def test_deep_trees_and_long_sentences_are_read():
    [tree] = read("( " + "(NP-1 " * 450 + "(NN dog)" * 250 + ")" * 451)
    assert len(words(tree)) == 250
    assert sum(item == "(NP" for item in walk(tree)) == 450


@st.composite
def long_and_deep(draw):
    """More than 200 words, constituents over any neighbours, a chain of up to 300 over all."""
    chance, labels = draw(st.randoms()), ["S", "NP", "VP", "ADVP|PRT"]
    parts = draw(st.lists(LEAVES, min_size=5, max_size=20)) * 41
    for _ in range(draw(st.integers(0, 100))):
        first, last = sorted(chance.sample(range(len(parts) + 1), k=2))
        parts[first:last] = [Tree(chance.choice(labels), tuple(parts[first:last]))]
    for _ in range(draw(st.integers(1, 300))):
        parts = [Tree(chance.choice(labels), tuple(parts))]
    return parts[0]


@settings(max_examples=20, suppress_health_check=[HealthCheck.too_slow])
@given(long_and_deep())
def test_long_and_deep_trees_come_back_from_the_treebank_and_from_the_linearised_form(tree):
    [again] = read(f"( {tree} )")
    assert list(walk(again)) == list(walk(tree))
    again, repaired = repair(linearise(tree).split(" "), words(tree), tags(tree))
    assert (list(walk(again)), repaired) == (list(walk(tree)), False)


def test_a_file_without_text_has_no_tree():
    assert read(" \n") == []


@pytest.mark.parametrize(
    ("text", "line", "fault"),
    [
        ("{}( (S\n (NN a))\n{}", 14, "not closed"),
        ("{}( (S (NN a)))\n)\n{}", 15, r"'\)' stands outside"),
        ("{}\n cat {}", 15, "'cat' stands outside"),
        ("{}( )", 14, r"\(\) holds nothing"),
        ("{}( (S (NP )\n (NN a)))", 14, r"\(NP\) holds nothing"),
        ("( (S (NP (-NONE- *)\n)))", 1, "no words"),
        ("{}( (S (NP the (NN cat))))", 14, r"'the' in \(NP \.\.\.\) has no tag"),
        ("( (S (NP the cat)))", 1, r"'the' in \(NP \.\.\.\) has no tag"),
        ("( (S ((NN cat))))", 1, "no label"),
        ("( (S ( cat)))", 1, r"\(cat\) holds nothing"),
        ("(NN cat)", 1, r"\(NN cat\) is a tag without a constituent"),
        ("(S " * 600 + "(NN cat)" + ")" * 600, 1, "500"),
    ],
)
def test_what_is_no_tree_is_refused_with_its_line(text, line, fault):
    with pytest.raises(InputError, match=rf"^wsj_0001\.mrg, line {line}: .*{fault}.*$") as error:
        read(text.replace("{}", PIERRE))
    assert "\n" not in str(error.value)


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
        path.rename(treebank / path.name)  # as in nltk's sample: 0001 and 0201 are found before 0100
    assert "".join(words(tree)[0] for tree in read_treebank(treebank, first, last)) == found


@pytest.mark.parametrize(
    ("folder", "found"),
    [("mrg", r"no wsj_SSNN\.mrg of section 04, 05 below it"), ("nowhere", "no such folder")],
)
def test_a_folder_without_some_sections_is_told_what_should_be_there(treebank, folder, found):
    with pytest.raises(InputError, match=rf"{folder}: {found}; set trees of the corpus to .*00/wsj_0001\.mrg"):
        read_treebank(treebank / folder, 200, 599)


def test_two_files_of_one_number_are_refused(treebank):
    (treebank / "wsj_0201.mrg").write_text("( (S (NN b)) )\n")
    with pytest.raises(InputError, match=r"02/wsj_0201\.mrg and .*/wsj_0201\.mrg are both file 0201; set trees"):
        read_treebank(treebank, 1, 399)


def test_a_fault_in_a_file_is_told_with_its_path(treebank):
    (treebank / "mrg/02/wsj_0201.mrg").write_bytes(b"( (S (NN b)) )\n( (S (NN \xe9)) )\n")
    with pytest.raises(InputError, match=r"02/wsj_0201\.mrg, line 2: byte 0xe9 is not UTF-8"):
        read_treebank(treebank, 1, 399)


@pytest.fixture
def corpus(tmp_path):
    """A treebank of six files of PIERRE, in a folder and as an archive that has more; three are train, two dev."""
    folder = tmp_path / "wsj"
    folder.mkdir()
    with zipfile.ZipFile(tmp_path / "treebank.zip", "w") as archive:
        archive.writestr("treebank/raw/wsj_0001.mrg", "no tree")
        for number in range(1, 7):
            (folder / f"wsj_{number:04}.mrg").write_text(PIERRE)
            archive.writestr(f"treebank/wsj/wsj_{number:04}.mrg", PIERRE)
    plain = PlainText("ende", 1, (1, 9), 1)
    sizes = {"train": 3, "dev": 2, "test": 1}
    return Treebank("treebank", "articles", "LDC", str(folder), (1, 3), (4, 5), (6, 6), plain, sizes)


@pytest.mark.parametrize("location", ["wsj", "treebank.zip/treebank/wsj"])
def test_a_corpus_has_words_linearised_trees_and_trees(tmp_path, corpus, location):
    corpus = dataclasses.replace(corpus, trees=str(tmp_path / location))
    write_corpus(corpus, tmp_path, tmp_path, name="wsj", source="words", target="trees")
    tree = read_tree(TREE)
    for part, count in corpus.sentences.items():
        assert read_lines(tmp_path / f"{part}.source") == ["Pierre will try to join our board ."] * count
        assert read_lines(tmp_path / f"{part}.target") == [linearise(tree)] * count
    assert read_trees(tmp_path / "dev.trees") == [tree] * 2
    assert read_trees(tmp_path / "test.trees") == [tree]
    assert not (tmp_path / "train.trees").exists()
    record = json.loads((tmp_path / "corpus.json").read_text())
    assert (record["pairs"], record["licence"]) == (corpus.sentences, "LDC")


@pytest.mark.parametrize(
    ("form", "start"), [("tags", "(S (NP NNP )NP (VP MD "), ("words", "(S (NP Pierre )NP (VP will ")]
)
def test_tags_or_words_are_the_leaves_where_the_corpus_says_so(tmp_path, corpus, form, start):
    corpus = dataclasses.replace(corpus, leaves=form)
    write_corpus(corpus, tmp_path, tmp_path, name="wsj", source="words", target="trees")
    [line] = set(read_lines(tmp_path / "train.target"))
    assert line == linearise(read_tree(TREE), form)
    assert line.startswith(start)
    assert json.loads((tmp_path / "corpus.json").read_text())["leaves"] == form


def test_constituents_of_training_trees_are_training_sentences_where_the_corpus_says_so(tmp_path, corpus):
    corpus = dataclasses.replace(corpus, constituents=(2, 3))
    write_corpus(corpus, tmp_path, tmp_path, name="wsj", source="words", target="trees")
    whole = corpus.sentences["train"] * ["Pierre will try to join our board ."]
    assert read_lines(tmp_path / "train.source") == [*whole, "join our board", "our board"]
    assert read_lines(tmp_path / "train.target")[-2:] == ["(VP XX (NP XX XX )NP )VP", "(NP XX XX )NP"]
    assert read_trees(tmp_path / "dev.trees") == [read_tree(TREE)] * 2
    record = json.loads((tmp_path / "corpus.json").read_text())
    assert record["pairs"] == {**corpus.sentences, "train": corpus.sentences["train"] + 2}


def test_a_treebank_that_lacks_trees_is_refused_with_the_numbers(tmp_path, corpus):
    (tmp_path / "wsj/wsj_0002.mrg").unlink()
    with pytest.raises(InputError, match=r"corpora\.wsj: .* has 2 train, .* trees, not 3 train"):
        write_corpus(corpus, tmp_path, tmp_path / "out", name="wsj", source="words", target="trees")
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("line", "sentence"),
    [
        ('"It isn\'t," he said (twice).', "`` It is n't , '' he said -LRB- twice -RRB- ."),
        ("It’s “good” – 1/2 of it…", "It 's `` good '' -- 1\\/2 of it ..."),
        ("Mr. Vinken's U.S. firm costs $3.50 [sic]!", "Mr. Vinken 's U.S. firm costs $ 3.50 -LSB- sic -RSB- !"),
        ("a\N{NO-BREAK SPACE}naïve*", "a naïve\\*"),
    ],
)
def test_plain_text_is_tokenised_as_the_treebank_is(line, sentence):
    assert " ".join(tokenise(line)) == sentence


@pytest.fixture
def text(tmp_path: Path):
    def write(lines):
        (tmp_path / "train.source").write_text("".join(f"{line}\n" for line in lines))
        return tmp_path / "train.source"

    return write


LINES = [f"Sentence {number} isn't long." for number in range(200)]


def test_sentences_drawn_have_the_words_asked_for_and_differ(text):
    path = text(["Too short.", "This one (here) has too many words.", ""] * 50 + LINES * 3)
    drawn = plain_sentences(path, 200, (6, 6), 1)
    assert sorted(drawn) == sorted(f"Sentence {number} is n't long ." for number in range(200))
    with pytest.raises(
        InputError, match=r"train\.source: 200 different sentences of 6 to 6 words, not 201; ask for fewer"
    ):
        plain_sentences(path, 201, (6, 6), 1)


def test_the_draw_depends_on_the_seed_but_not_on_order_or_repetition(text):
    drawn = plain_sentences(text(LINES), 20, (1, 9), 1)
    assert plain_sentences(text([*reversed(LINES), *LINES[:50]]), 20, (1, 9), 1) == drawn
    assert plain_sentences(text(LINES), 20, (1, 9), 2) != drawn


def test_every_sentence_is_as_likely_as_any_other(text):
    path = text([*LINES[:10], *LINES[:5] * 4])
    counts = Counter(sentence for seed in range(100) for sentence in plain_sentences(path, 5, (1, 9), seed))
    assert sum(counts.values()) == 500
    assert all(30 <= counts[" ".join(tokenise(line))] <= 70 for line in LINES[:10])


def test_a_large_text_is_not_held_in_memory(text):
    path = text(f"Sentence {number} isn't long." for number in range(20_000))
    tokenise("once")
    tracemalloc.start()
    plain_sentences(path, 20, (1, 9), 1)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < path.stat().st_size / 4


def test_a_bad_byte_in_plain_text_names_its_line(tmp_path):
    (tmp_path / "plain").write_bytes(b"A good line.\nA bad \xff line.\n")
    with pytest.raises(InputError, match="plain, line 2: byte 0xff"):
        plain_sentences(tmp_path / "plain", 1, (1, 9), 1)


def test_the_wsj_sample_is_read_whole(wsj_sample):
    trees = read_treebank(wsj_sample, 1, 199)
    assert len(trees) == 3914
    assert sum(len(words(tree)) for tree in trees) == 94_084  # 100,676 less 6,592 -NONE-
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

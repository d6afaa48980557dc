import any_trees
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from transformer.support.files import InputError
from transformer.trees.linear import linearise, repair
from transformer.trees.penn import read_mrg, read_tree, read_trees
from transformer.trees.tree import Leaf, Tree, tags, walk, words

JOHN = "(S (NP (NNP John)) (VP (VBZ has) (NP (DT a) (NN dog))) (. .))"
LEAVES = st.builds(
    Leaf,
    st.sampled_from(["NN", "PRP$", "-LRB-", "``", ",", ":", "#", "VBG|NN"]),
    st.one_of(
        st.sampled_from(["-LRB-", "-RRB-", "1\\/2", "\\", "*", "10\N{NO-BREAK SPACE}000", "naïve"]),
        st.text(st.characters(exclude_categories=["C"], exclude_characters="() "), min_size=1, max_size=5).filter(
            lambda word: not word.isspace()
        ),
    ),
)
TREES = any_trees.trees_of(st.sampled_from(["S", "NP", "VP", "PRN", "ADVP|PRT", "X"]), LEAVES)


@st.composite
def annotated(draw, item):
    """The text of a tree, with functions, traces and blanks added."""
    blank = draw(st.sampled_from([" ", "\n    ", "\r\n", "\t"]))
    if isinstance(item, Leaf):
        return f"({item.tag}{blank}{item.word})"
    text = f"({item.label}" + draw(st.sampled_from(["", "-SBJ", "-SBJ-1", "=2", "-LOC=2-3", "-TPC-1"]))
    for child in item.children:
        traces = ["", "", "(-NONE- *T*-1)", "(NP-SBJ (-NONE- *) )", "(SBAR (-NONE- 0) (S (-NONE- *)))"]
        text += blank + draw(st.sampled_from(traces)) + draw(annotated(child))
    return text + draw(st.sampled_from([")", " )"]))


def read(text):
    return list(read_mrg("wsj_0001.mrg", text))


@given(TREES)
def test_a_printed_tree_is_read_back_by_both_readers(tree):
    assert [read_tree(str(tree))] == read(str(tree)) == [tree]


@pytest.mark.parametrize("blank", ["", "\t", " \u3000", "\r"])
def test_blanks_between_brackets_do_not_matter(blank):
    text = f"  ( S{blank}(NP ( NNP John )){blank}(VP(VBZ has)(NP (DT a){blank}(NN dog)) )(. .)){blank}"
    assert read_tree(text) == read_tree(JOHN)


def test_a_tree_of_the_treebank_loses_traces_functions_and_its_outer_bracket(pierre):
    text, tree = pierre
    assert [str(each) for each in read(text * 2)] == [tree] * 2


@given(TREES.flatmap(lambda tree: st.tuples(st.just(tree), annotated(tree))), st.sampled_from(["", "TOP", "ROOT"]))
def test_exactly_the_added_functions_traces_and_outer_brackets_are_removed(pair, root):
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


@pytest.mark.parametrize("root", ["", "TOP", "VROOT", "root", "ROOT-1"])
def test_an_outer_bracket_is_removed_whatever_its_label(root):
    assert read(f"({root} {JOHN})") == [read_tree(JOHN)]
    assert read(f"({root} (S1 (ROOT {JOHN})))") == [read_tree(JOHN)]
    assert [str(tree) for tree in read(f"({root} {JOHN} (. .))")] == [f"(TOP {JOHN} (. .))"]
    assert [str(tree) for tree in read(f"({root} (UH yes))")] == ["(TOP (UH yes))"]


@st.composite
def long_and_deep(draw):
    """A tree of more than 200 words, with constituents over any neighbours and up to 300 nested ones over all."""
    chance, labels = draw(st.randoms()), ["S", "NP", "VP", "ADVP|PRT"]
    parts = draw(st.lists(LEAVES, min_size=5, max_size=20)) * 41
    for _ in range(draw(st.integers(0, 100))):
        first, last = sorted(chance.sample(range(len(parts) + 1), k=2))
        parts[first:last] = [Tree(chance.choice(labels), tuple(parts[first:last]))]
    for _ in range(draw(st.integers(1, 300))):
        parts = [Tree(chance.choice(labels), tuple(parts))]
    return parts[0]


@settings(max_examples=20)
@given(long_and_deep())
def test_long_and_deep_trees_come_back_from_the_treebank_and_from_the_linearised_form(tree):
    [again] = read(f"( {tree} )")
    assert list(walk(again)) == list(walk(tree))
    again, repaired = repair(linearise(tree).split(" "), words(tree), tags(tree))
    assert (list(walk(again)), repaired) == (list(walk(tree)), False)


@pytest.mark.parametrize(
    ("text", "line", "fault"),
    [
        ("{}( (S\n (NN a))\n{}", 14, "not closed"),
        ("{}( (S (NN a)))\n)\n{}", 15, r"'\)' stands outside"),
        ("{}\n cat {}", 15, "'cat' stands outside"),
        ("{}( (S (NP )\n (NN a)))", 14, r"\(NP\) holds nothing"),
        ("( (S (NP (-NONE- *)\n)))", 1, "no words"),
        ("{}( (S (NP the (NN cat))))", 14, r"'the' in \(NP \.\.\.\) has no tag"),
        ("( (S ((NN cat))))", 1, "no label"),
        ("(NN cat)", 1, r"\(NN cat\) is a tag without a constituent"),
        ("(S " * 600 + "(NN cat)" + ")" * 600, 1, "500"),
        ("{}(S (NP\u3000(NN cat)))", 14, r"the label 'NP\\u3000' has a blank, U\+3000; write an ordinary blank"),
        ("{}(S (NN c\0t))", 14, "a NUL character, as in damaged files; repair the file"),
        ("{}(S (NN \u00a0))", 14, r"\(NN\) holds nothing"),
    ],
)
def test_a_text_that_is_not_a_tree_is_refused_with_the_line(pierre, text, line, fault):
    with pytest.raises(InputError, match=rf"^wsj_0001\.mrg, line {line}: .*{fault}.*$") as error:
        read(text.replace("{}", pierre[0]))
    assert "\n" not in str(error.value)


def test_a_fault_in_the_second_line_of_a_file_is_reported_with_line_2(tmp_path):
    (tmp_path / "dev.trees").write_text(f"{JOHN}\n(S (NP (DT the) dog))\n")
    with pytest.raises(InputError, match=r"dev\.trees, line 2, column 17: 'dog' in \(NP \.\.\.\) has no tag"):
        read_trees(tmp_path / "dev.trees")

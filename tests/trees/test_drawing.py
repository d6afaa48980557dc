import re
from itertools import pairwise
from xml.etree import ElementTree

from any_trees import trees_of
from hypothesis import given
from hypothesis import strategies as st

from transformer.trees.drawing import PAGE, ROW, draw, draw_examples, width_of
from transformer.trees.penn import read_tree
from transformer.trees.tree import Leaf, Tree, words

JOHN = read_tree("(S (NP (NNP John)) (VP (VBZ has) (NP (DT a) (NN dog))) (. .))")
HEAD_OF = '<svg xmlns="http://www.w3.org/2000/svg">'
LEAVES = st.builds(Leaf, st.just("NN"), st.text(min_size=1, max_size=5))
TREES = trees_of(st.sampled_from(["S", "NP", "SBARQ", "WHADJP-TMP-CLR"]), LEAVES)


def texts(svg, kind):
    """The texts of a kind in an SVG: for each its middle, its baseline and its content."""
    root = ElementTree.fromstring(svg)
    drawn = [each for each in root.iter("{http://www.w3.org/2000/svg}text") if each.get("class") == kind]
    return [(float(each.attrib["x"]), float(each.attrib["y"]), each.text) for each in drawn]


def test_words_stand_in_one_row_and_labels_above_their_words():
    svg = draw({1: [JOHN]})
    places = {text: (x, y) for x, y, text in texts(svg, None)}
    assert list(places) == ["John", "has", "a", "dog", "."]
    assert {y for _, y in places.values()} == {3 * ROW}
    labels = texts(svg, "label")
    assert [(text, y // ROW) for _, y, text in labels] == [("S", 0), ("NP", 1), ("VP", 1), ("NP", 2)]
    assert labels[1][0] == places["John"][0]
    assert places["has"][0] < labels[2][0] < places["dog"][0]
    assert places["a"][0] < labels[3][0] < places["dog"][0]
    assert "NNP" not in svg


@given(TREES)
def test_no_two_texts_of_a_tree_overlap_and_all_are_inside_the_page(tree):
    svg = draw({1: [tree]})
    assert len(texts(svg, None)) == len(words(tree))
    width = float(ElementTree.fromstring(svg).attrib["width"])
    rows = {}
    for x, y, text in texts(svg, None) + texts(svg, "label"):
        rows.setdefault(y, []).append((x, text or ""))
    for row in rows.values():
        for (x, text), (following, after) in pairwise(row):
            assert x + width_of(text) / 2 < following - width_of(after) / 2
        assert row[0][0] - width_of(row[0][1]) / 2 > 0
        assert row[-1][0] + width_of(row[-1][1]) / 2 < width


def test_each_sentence_is_a_row_and_each_of_its_trees_a_column():
    svg = draw({2: [JOHN, JOHN], 7: [JOHN, JOHN]}, ["gold", "ours"])
    notes = texts(svg, "note")
    assert [text for _, _, text in notes] == ["gold", "ours", "2", "7"]
    places = re.findall(r"translate\((\S+) (\S+)\)", svg)
    assert places[0] == places[2][:1] + places[0][1:]
    (left, top), (right, beside), (_, below), _ = [tuple(map(float, place)) for place in places]
    assert beside == top < below - 3 * ROW
    assert notes[0][0] == left < notes[1][0] == right


def test_constituents_that_only_one_of_two_trees_has_are_marked():
    flat = read_tree("(S (NP (NNP John)) (VBZ has) (NP (DT a) (NN dog)) (NP (. .)))")
    svg = draw({2: [JOHN, flat], 7: [JOHN, flat]}, ["gold", "ours"], [7])
    above, below = svg.split(">7</text>\n")
    assert "differs" not in above.partition("</style>")[2]
    assert [text for _, _, text in texts(f"{HEAD_OF}{below}", "label differs")] == ["VP", "NP"]
    assert below.count('<rect class="differs"') == 2


def test_trees_that_do_not_fit_beside_each_other_stand_below_each_other():
    wide = Tree("S", (Leaf("NN", "x" * 60),))
    svg = draw({2: [wide, wide]}, ["gold", "ours"])
    assert [text for _, _, text in texts(svg, "note")] == ["2 gold", "2 ours"]
    assert float(ElementTree.fromstring(svg).attrib["width"]) < PAGE
    [(left, top), (same, below)] = re.findall(r"translate\((\S+) (\S+)\)", svg)
    assert left == same
    assert float(below) > float(top) + ROW


def test_of_three_examples_one_is_right_and_two_are_wrong(tmp_path):
    gold = tmp_path / "test.trees"
    gold.write_text("".join(f"(S (NN a) (NN b) (NN c) (NN d) (NN w{number}))\n" for number in range(1, 7)))
    right, wrong = "(S XX XX XX XX XX )S", "(S (NP XX XX )NP XX XX XX )S"

    def shown(*outputs):
        return [int(text) for _, _, text in texts(draw_examples(outputs, gold), "note")[2:]]

    assert shown(right, right, wrong, right, wrong, wrong) == [1, 3, 5]
    assert shown(wrong, wrong, wrong, right, right, right) == [1, 2, 4]
    assert shown(*[right] * 6) == shown(*[wrong] * 6) == [1, 2, 3]

"""The page in which packages run works as a reader uses it."""

import math
from pathlib import Path

import pytest
import torch

from tests.browser.reader import computed, pick, settled, text, texts, wait, write
from transformer.model.positions import sinusoids
from transformer.package.loading import load_package
from transformer.trees.linear import misread

pytestmark = pytest.mark.browser
ROOT = Path(__file__).parents[2]
BIG = ROOT / "models/ende/big/6/average-5/package"
BASE = ROOT / "models/ende/base/2/average-10/package"
HOSTILE = [
    "</script><script>broken = 1</script>",
    "<img src=x onerror='broken = 1'>",
    "a \"quoted\" 'cat' & a `dog` \\ ${broken = 1}",
    "\u202e\u05e9\u05dc\u05d5\u05dd\u202c \u0639\u0627\u0644\u0645",
    "e\u0301\u0301 \u2028 the cat",
]


def test_a_sentence_is_translated_as_one_types_and_goes_on_from_a_subword_that_one_chooses(tab, opened):
    opened(BIG, examples=["A man rides a bicycle."])
    settled(tab)
    assert text(tab, "#translation") == "Ein Mann fährt ein Fahrrad."
    write(tab, "A dog runs.")
    wait(tab, "document.getElementById('translation').textContent.startsWith('Ein Hund ')")
    settled(tab)
    own = text(tab, "#translation")
    assert texts(tab, "#hypotheses bdi")[0] == own
    assert "CC BY-NC-SA 4.0" in text(tab, "#facts")
    tab.point("#output-steps button:nth-child(2)", click=True)
    assert text(tab, "#step-name") == "Step 2. Before it: \u2581Ein"
    other = text(tab, "#next tr:nth-child(3) button")
    tab.point("#next tr:nth-child(3) button", click=True)
    settled(tab)
    assert texts(tab, "#output-steps span")[:2] == ["\u2581Ein", other]
    assert text(tab, "#translation").startswith(f"Ein {other[1:]}")
    assert tab.value("document.activeElement.ariaLabel").startswith(f"step 2: {other}")
    tab.point("#own", click=True)
    settled(tab)
    assert text(tab, "#translation") == own
    write(tab, "")
    assert text(tab, "#note") == "Type a sentence."
    write(tab, "a dog " * 101)
    assert "at most 200" in text(tab, "#note")


def test_a_number_of_the_matrix_is_worked_out(tab, opened):
    opened(BIG, examples=["A man rides a bicycle."])
    settled(tab)
    for name, value in (("kind", "encoder-decoder"), ("unit", "subwords"), ("view", "matrix")):
        tab.point(f"form [name={name}][value={value}]", click=True)
    pick(tab, "attention", "layer", 2)
    tab.point("#none", click=True)
    tab.point("#heads label:nth-of-type(3) input", click=True)
    cell = "#matrix tbody tr:nth-child(4) td:nth-of-type(2)"
    shown = float(text(tab, cell))
    tab.point(cell, click=True)
    form = tab.value("(f => [f.kind, f.layer, f.head, f.query, f.key].map(e => e.value))(document.forms.weight)")
    assert form == ["encoder-decoder", "1", "2", "3", "1"]
    steps = dict(zip(texts(tab, "#worked > div > dt"), texts(tab, "#worked > div > dd"), strict=True))
    assert float(steps["weight"].rpartition(" = ")[2]) == pytest.approx(shown, abs=0.0051)
    q, k = (tab.value(f"[...document.querySelectorAll('#worked .strip')][{i}].ariaLabel") for i in (0, 1))
    q, k = ([float(each.replace("\u2212", "-")) for each in side.partition(": ")[2].split(", ")] for side in (q, k))
    score = steps["q \u00b7 k / \u221ad_k"].rpartition(" = ")[2]
    product = sum(a * b for a, b in zip(q, k, strict=True))
    assert product / math.sqrt(8) == pytest.approx(float(score.replace("\u2212", "-")), abs=0.05)


def test_the_cells_of_the_matrix_are_reached_by_arrow_keys_and_enter_works_one_out(tab, opened):
    opened(BIG, examples=["A man rides a bicycle."])
    settled(tab)
    for name, value in (("kind", "decoder"), ("unit", "subwords"), ("view", "matrix")):
        tab.point(f"form [name={name}][value={value}]", click=True)
    tab.value("document.querySelector('#matrix [tabindex=\"0\"]').focus()")
    for key in ("ArrowDown", "ArrowDown", "ArrowRight", "ArrowUp", "ArrowUp", "ArrowUp", "ArrowLeft", "ArrowRight"):
        tab.press(key)
    assert tab.value("document.activeElement.className + document.activeElement.title.slice(-9)") == "maskedis masked"
    assert tab.value("document.querySelectorAll('#matrix [tabindex=\"0\"]').length") == 1
    tab.press("ArrowDown")
    tab.press("Enter")
    form = tab.value("(f => [f.kind, f.layer, f.head, f.query, f.key].map(e => e.value))(document.forms.weight)")
    assert form == ["decoder", "0", "0", "1", "1"]
    assert tab.value("document.activeElement.id") == "worked"


def test_what_comes_later_is_masked_and_what_is_not_divided_by_the_root_is_peaked(tab, opened):
    opened(BIG, examples=["A man rides a bicycle."])
    settled(tab)
    pick(tab, "weight", "kind", "decoder")
    pick(tab, "weight", "query", 1)
    table = [texts(tab, f"#worked tr:nth-child({i}) td") for i in range(1, 5)]
    pieces, scores, weights, undivided = table
    assert pieces[:3] == ["<start>", "\u2581Ein", "\u2581Mann"]
    assert scores[2:] == ["\u2212\u221e"] * (len(pieces) - 2)
    assert weights[2:] == undivided[2:] == ["0"] * (len(pieces) - 2)
    weights, undivided = ([float(each) for each in row] for row in (weights, undivided))
    assert sum(weights) == pytest.approx(1, abs=0.002) == sum(undivided)
    ratio = math.log(weights[0] / weights[1])
    assert math.log(undivided[0] / undivided[1]) == pytest.approx(ratio * math.sqrt(8), rel=0.1)
    for name, value in (("kind", "decoder"), ("unit", "subwords"), ("view", "matrix")):
        tab.point(f"form [name={name}][value={value}]", click=True)
    words = tab.value("document.querySelectorAll('#matrix tbody tr').length")
    assert tab.value("document.querySelectorAll('#matrix .masked').length") == words * (words - 1) / 2


def test_an_embedding_and_its_position_add_up(tab, opened, save):
    folder = save()
    opened(folder)
    settled(tab)
    pick(tab, "input", "subword", 2)
    code = """
    const numbers = (label) => label.replace(/.*: /, "").replaceAll("\u2212", "-").split(", ").map(Number);
    return [...document.querySelectorAll("#summands .strip")].map((strip) => numbers(strip.ariaLabel));
    """
    embedding, position, total = torch.tensor(computed(tab, code))
    loaded = load_package(folder, torch.device("cpu"))
    [ids] = loaded.subwords.encode(["the cat sees a dog ."])
    d_model = len(total)
    assert embedding == pytest.approx(loaded.model.embedding[ids[2]].detach() * math.sqrt(d_model), abs=0.006)
    assert position == pytest.approx(sinusoids(3, d_model)[2], abs=0.006)
    assert total == pytest.approx(embedding + position, abs=0.011)


def test_a_model_s_verdicts_stand_beside_its_output(tab, opened, save, change_package, tmp_path):
    claims = tmp_path / "claims.csv"
    header, claim = "Claim,Measure,Rows,Verdict,Seeds", "One head is worse"
    rows = [f'{claim},"BLEU, test",A-h1 < base,undecided,10', "Parsers agree,F1,wsj/A-h1 < semi/A-h1,contrary,5"]
    rows.append("As fast,time of a step,A-h1 \u2248 base (within 10 %),reproduced,10 rounds")
    claims.write_text("\n".join([header, *rows]))
    base, other = save(), save("other", seed=2)
    change_package(other, model="A-h1")
    opened(base, other, claims=claims)
    wait(tab, "document.querySelectorAll('#beside tr').length === 3")
    assert texts(tab, "#beside tr:nth-child(2) li") == []
    expected = [f"{claim} (BLEU, test): undecided, seeds: 10", "As fast (time of a step): reproduced, 10 rounds"]
    assert texts(tab, "#beside tr:nth-child(3) li") == expected


def test_the_output_without_a_part_stands_beside_the_whole_one(tab, opened):
    opened(BIG, BASE, examples=["Two men are at the stove preparing food."])
    settled(tab)
    before = text(tab, "#translation")
    wait(tab, "document.querySelectorAll('#beside tr').length === 3")
    assert text(tab, "#beside tr:nth-child(2) td") == before
    assert text(tab, "#beside tr:nth-child(2) td:last-child") == "34.7"
    after = "document.getElementById('after').textContent"
    tab.point("form [name=scaling]", click=True)
    without_scaling = wait(tab, f"{after}.endsWith(' (changed)') && {after}")
    tab.point("form [name=scaling]", click=True)
    wait(tab, f"{after}.startsWith('Take something away')")
    pick(tab, "away", "part", "decoder.2.encoder_attention.0")
    without_a_head = wait(tab, f"{after}.endsWith(')') && {after}")
    assert without_a_head != without_scaling
    assert text(tab, "#before") == before


def test_words_are_reached_by_keyboard_and_said_by_a_live_region(tab, opened, save):
    opened(save(N=2))
    settled(tab)
    lines = "[...document.querySelectorAll('#lines path')].map(e => e.getAttribute('d')).join('').split('M').length - 1"
    tab.point("#queries-name", click=True)
    tab.press("Escape")
    everything = tab.value(lines)
    tab.press("Tab")
    first = text(tab, "#reading")
    assert first.startswith("\u201cthe\u201d reads ")
    assert 0 < tab.value(lines) < everything
    tab.press("ArrowRight")
    assert text(tab, "#reading").startswith("\u201ccat\u201d reads ")
    tab.press("ArrowLeft")
    assert text(tab, "#reading") == first
    tab.press("Tab")
    assert text(tab, "#reading").startswith("\u201cthe\u201d is read by ")
    assert tab.value("getComputedStyle(document.activeElement.parentElement).outlineStyle") == "solid"
    tab.press("Escape")
    assert (text(tab, "#reading"), tab.value(lines)) == ("", everything)
    nodes = tab.call("Accessibility.getFullAXTree")["nodes"]
    roles = {"radio", "checkbox", "combobox", "button", "radiogroup", "slider", "textbox", "region"}
    named = [(n["role"]["value"], n["name"]["value"]) for n in nodes if n.get("role", {}).get("value") in roles]
    assert [role for role, name in named if not name] == []
    assert {("radiogroup", "Source (reads)"), ("checkbox", "head 2"), ("slider", "Beam")} <= set(named)


@pytest.mark.parametrize("dark", [False, True])
def test_a_phone_shows_the_page_without_scrolling_sideways(tab, opened, save, dark):
    opened(save(h=1, d_k=64, d_v=64), width=390, dark=dark, examples=[" ".join(["the well-known cat"] * 6)])
    settled(tab)
    assert tab.value("document.documentElement.scrollWidth") <= 390
    assert tab.value("document.getElementById('lines').classList.contains('columns')")
    tab.point("form [name=view][value=matrix]", click=True)
    assert tab.value("document.documentElement.scrollWidth") <= 390
    background = tab.value("getComputedStyle(document.body).backgroundColor")
    assert background == ("rgb(23, 24, 27)" if dark else "rgb(255, 255, 255)")


def test_hostile_sentences_are_text(tab, opened, save):
    opened(save(), examples=HOSTILE)
    for line in HOSTILE:
        pick(tab, "sentence", "example", line)
        settled(tab)
        assert tab.value("document.forms.sentence.text.value") == line
        tab.point("#queries .word", click=True)
        assert text(tab, "#reading")
    assert tab.value("typeof broken") == "undefined"
    assert tab.value("document.querySelectorAll('main img').length") == 0


OUTPUTS = ["(S (NP XX XX )NP (VP XX )VP )S", "(S the dog sees )S", "(S (NP the cat )NP (VP sees )VP )S", "(S XX XX XX"]
OUTPUTS += [
    "(S XX XX )S",
    "XX XX XX",
    "(S (NP )NP XX XX XX )S",
    "(S XX XX XX )VP",
    "(S XX )S (S XX XX )S",
    ")S",
    "XX )S",
]


def test_a_parser_s_trees_come_before_other_hypotheses_and_are_drawn_over_the_words(tab, opened, save, change_package):
    folder = save()
    change_package(folder, kind="parsing")
    opened(folder, examples=["the ( dog ) sees"])
    settled(tab)
    assert "-LRB-" in "".join(texts(tab, "#pieces .piece"))
    code = """
    const { bracketed, parsed, treesFirst } = await import("parse");
    const trees = outputs.map((each) => parsed(each, "the dog sees"));
    return [treesFirst(outputs, "the dog sees", (each) => each), trees.map(({ root }) => bracketed(root))];
    """
    order, brackets = computed(tab, code, outputs=OUTPUTS)
    assert order == sorted(OUTPUTS, key=lambda output: misread(output, ["the", "dog", "sees"]))
    assert brackets[0] == "(S (NP the dog) (VP sees))"
    assert brackets[2] == "(S (NP the dog (cat)) (VP sees))"
    draw = """
    const { showTree } = await import("tree");
    const { parsed } = await import("parse");
    showTree(document.getElementById("parse"), parsed(output, "the dog sees"));
    return [...document.querySelectorAll("#parse text")].map((each) => each.textContent);
    """
    assert computed(tab, draw, output=OUTPUTS[0]) == ["the", "dog", "NP", "sees", "VP", "S"]
    assert computed(tab, draw, output="(S (NP XX") == ["the", "(NP \u2026", "(S \u2026"]


def test_a_parser_s_tree_grows_with_the_steps(tab, opened, save, change_package):
    folder = save()
    change_package(folder, kind="parsing")
    opened(folder)
    settled(tab)
    assert text(tab, "#parse p") == "This output is no tree over these words."
    tab.point("#output-steps button:first-child", click=True)
    trees = [text(tab, "#grown")]
    for step in (2, 3):
        tab.press("ArrowRight")
        assert text(tab, "#step-name").startswith(f"Step {step}. ")
        trees.append(text(tab, "#grown"))
    assert len(set(trees)) == 3
    tab.point("#play", click=True)
    assert text(tab, "#step-name").startswith("Step 1. ")
    wait(tab, "document.getElementById('step-name').textContent.startsWith('Step 3. ')")

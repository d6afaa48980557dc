"""The page in which packages run computes what PyTorch computes, and works as a reader uses it."""

import dataclasses
import json
import math
import os
import tarfile
import time
from pathlib import Path

import pytest
import torch

from transformer.decoding.beam import beam_search
from transformer.decoding.search import Search, Sentence
from transformer.evaluation.attention import weights_of_all
from transformer.explore.page import write_page
from transformer.model.config import AttentionOverParametersConfig
from transformer.model.masks import Rows
from transformer.model.networks import network
from transformer.package.config import read_package_config
from transformer.package.loading import load_package
from transformer.trees.linear import misread

pytestmark = pytest.mark.browser
ROOT = Path(__file__).parents[2]
MODELS = sorted(path.parent for path in ROOT.glob("models/**/package/config.json"))
BIG = ROOT / "models/ende/big/6/average-5/package"
COUNT = int(os.environ.get("EXPLORE_LINES", "50"))  # lines of a shipped model's test set
ODD = [
    *("", " ", "\x00", "a\x00b", "\ufb01ne \u00bd \u2460", "\u65e5\u672c\u8a9e text", "\U0001f642\U0001f642 ok"),
    *("\u2581\u2581a \u2581", "  two  blanks  ", "\u200b", "e\u0301\u0301", "x" * 300, "\uff21\uff22\uff23", "\ufffd"),
    *("a\u0085b", "\ufdfd", "</s> <unk>", "a\tb\n c", "\u202e\u05e9\u05dc\u05d5\u05dd", "the cat " * 250, "\u2047 ?"),
]
HOSTILE = [
    "</script><script>broken = 1</script>",
    "<img src=x onerror='broken = 1'>",
    "a \"quoted\" 'cat' & a `dog` \\ ${broken = 1}",
    "\u202e\u05e9\u05dc\u05d5\u05dd\u202c \u0639\u0627\u0644\u0645",
    "e\u0301\u0301 \u2028 the cat",
]
SETUP = """
const { Transformer } = await import("network");
const { Subwords } = await import("subwords");
const { readTensors } = await import("vectors");
const { beamSearch, limitOf } = await import("beam");
const { computed } = await import("sentence");
const [about] = JSON.parse(document.querySelector("script.packages").textContent);
const bytes = (text) => Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
const subwords = new Subwords(bytes(about.subwords));
const model = new Transformer(about.config.architecture, readTensors(bytes(about.weights).buffer));
const loaded = { model, subwords, config: about.config };
"""
SEARCH = """
return lines.map((line) => {
  const ids = subwords.encode(line);
  const { beam, alpha, extra } = about.config.decoding;
  const how = { width: beam, alpha, limit: limitOf(about.config.architecture, ids, extra), nbest };
  const start = performance.now();
  const found = beamSearch(model, model.begin(ids), how).map(({ ids, score }) => [ids, score]);
  const taken = performance.now() - start;
  const greedy = computed(loaded, line, ids).output;
  return { ids, taken, found, greedy, texts: found.map(([ids]) => subwords.decode(ids)) };
});
"""


@pytest.fixture
def opened(tab, tmp_path):
    """Opens the page of some packages; at the end, the browser must have had nothing to complain about."""

    def open_page(*folders, width=1280, dark=False, examples=("the cat sees a dog .",)):
        path = tmp_path / "explore.html"
        write_page(path, [(folder, read_package_config(folder)) for folder in folders], examples)
        tab.open(path, width, dark)

    yield open_page
    assert not tab.complaints
    asked = [e["params"]["request"]["url"] for e in tab.events if e["method"] == "Network.requestWillBeSent"]
    assert {url.partition(":")[0] for url in asked} <= {"file", "data"}


def computed(tab, code, **given):
    """What code returns that runs in the page, after SETUP."""
    names = "".join(f"const {name} = {json.dumps(value)};\n" for name, value in given.items())
    return tab.value(f"(async () => {{{SETUP}{names}{code}}})()")


def agree(tab, loaded, lines, nbest):
    """Compare subwords, greedy outputs and the beam's with ours. Returns how many lines are equal, and milliseconds."""
    search = Search.of(loaded.config, nbest=nbest)
    equal, taken = 0, 0.0
    for line, theirs in zip(lines, computed(tab, SEARCH, lines=lines, nbest=nbest), strict=True):
        [ids] = loaded.subwords.encode([line])
        assert theirs["ids"] == ids, line
        ours = search(loaded.model, [Sentence(1, ids)])[0]
        theirs["found"] = theirs["found"][: len(ours)]
        first = beam_search(loaded.model, torch.tensor([ids]), 1, search.alpha, search.extra)[0][0].ids
        taken += theirs["taken"]
        if [each for each, _ in theirs["found"]] == [each.ids for each in ours]:
            assert [score for _, score in theirs["found"]] == pytest.approx([each.score for each in ours], abs=1e-4)
            assert theirs["texts"][: len(ours)] == loaded.subwords.decode([each.ids for each in ours])
        else:  # only where two candidates are as good as each other
            gaps = [abs(score - each.score) for (_, score), each in zip(theirs["found"], ours, strict=True)]
            assert max(gaps) < 1e-5, (line, gaps)
            continue
        equal += theirs["greedy"] == first
    return equal, taken


@pytest.mark.parametrize(
    "changes",
    [
        *({"positions": name} for name in ("none", "sinusoidal", "learned", "t5", "alibi", "rotary")),
        {"attention": "unscaled"},
        {"attention": "additive"},
        {"attention_over_parameters": AttentionOverParametersConfig(2, 8, 8, 12)},
    ],
    ids=str,
)
def test_every_kind_of_transformer_has_the_logits_the_attention_and_the_n_best_of_ours(tab, opened, save, changes):
    folder = save(N=2, h=3, d_k=6, d_v=4, **changes)
    opened(folder)
    loaded = load_package(folder, torch.device("cpu"))
    lines = ["the cat sees a dog .", "a zebra .", "dog the the a cat finds a well-known tree . " * 3]
    equal, _ = agree(tab, loaded, lines, nbest=True)
    assert equal == len(lines)
    [source, target] = loaded.subwords.encode(lines[:2])
    code = """
    const data = computed(loaded, lines[0], ids, output);
    const weights = {};
    for (const [kind, layers] of Object.entries(data.layers))
      weights[kind] = layers.map((layer) => data.probabilities.length && (kind === "encoder" ? ids : [...output, 1])
        .map((_, i) => layer(i).weights.map((row) => [...row])));
    return { weights, probabilities: data.probabilities.map((row) => [...row]) };
    """
    theirs = computed(tab, code, lines=lines, ids=source, output=target[:-1])
    with torch.inference_mode():
        rows = Rows.of(torch.tensor([source])), Rows.of(torch.tensor([target]))
        ours = loaded.model.logits(loaded.model(*rows)).softmax(-1)[0]
    assert torch.tensor(theirs["probabilities"]) == pytest.approx(ours, abs=1e-5)
    for kind, expected in weights_of_all(loaded.model, source, target).items():
        for n, queries in enumerate(theirs["weights"][kind]):
            for q, heads in enumerate(queries):
                for head, row in enumerate(heads):
                    assert row == pytest.approx(expected[n, head, q, : len(row)].tolist(), abs=1e-5)


def test_subwords_of_odd_lines_are_ours(tab, opened, save):
    for folder in (save(), *MODELS):
        opened(folder)
        ours = load_package(folder, torch.device("cpu")).subwords.encode(ODD)
        theirs = computed(tab, "return lines.map((line) => subwords.encode(line))", lines=ODD)
        assert [line for line, one, other in zip(ODD, theirs, ours, strict=True) if one != other] == []


@pytest.mark.parametrize("folder", MODELS, ids=lambda path: "/".join(path.parts[-5:-3]))
def test_a_shipped_model_translates_its_test_lines_as_ours_does(tab, opened, folder):
    loaded = load_package(folder, torch.device("cpu"))
    with tarfile.open(ROOT / "models/translations.tar.xz") as archive:
        name = f"translations/{folder.relative_to(ROOT / 'models').parent}/test.translation"
        lines = archive.extractfile(name).read().decode().splitlines()
    if given := os.environ.get("EXPLORE_SOURCE"):
        lines = Path(given).read_text().splitlines()
    opened(folder)
    lines = [line for line in lines if len(line) < 250][:COUNT]
    equal, taken = agree(tab, loaded, lines, nbest=False)
    print(f"{folder}: {equal} of {len(lines)} lines equal; {taken / len(lines):.0f} ms a line with the beam")
    assert equal >= 0.99 * len(lines)


def settled(tab):
    """Wait until the beam has ended."""
    wait(tab, "document.getElementById('translation').ariaBusy === 'false' || document.getElementById('parts').hidden")


def wait(tab, expression):
    """Wait until something is so on the page."""
    end = time.monotonic() + 60
    while not (found := tab.value(expression)):
        assert time.monotonic() < end, expression
        time.sleep(0.05)
    return found


def text(tab, selector):
    return tab.value(f"document.querySelector({json.dumps(selector)}).textContent")


def texts(tab, selector):
    return tab.value(f"[...document.querySelectorAll({json.dumps(selector)})].map(each => each.textContent)")


def pick(tab, form, name, value):
    """Choose in a list, as a browser's own list does it."""
    field = f"document.forms.{form}.{name}"
    event = "new Event('change', {bubbles: true})"
    tab.value(f"{field}.value = {json.dumps(value)}; {field}.dispatchEvent({event})")


def write(tab, line):
    tab.value("document.forms.sentence.text.select()")
    tab.call("Input.insertText", text=line)


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
    assert texts(tab, "#output-steps button")[:2] == ["\u2581Ein", other]
    assert text(tab, "#translation").startswith(f"Ein {other[1:]}")
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


def test_the_output_without_a_part_stands_beside_the_whole_one(tab, opened):
    opened(BIG, MODELS[0], examples=["Two men are at the stove preparing food."])
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
    lines = "document.querySelectorAll('#lines line').length"
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
    showTree(parsed(output, "the dog sees"));
    return [...document.querySelectorAll("#parse text")].map((each) => each.textContent);
    """
    assert computed(tab, draw, output=OUTPUTS[0]) == ["the", "dog", "NP", "sees", "VP", "S"]
    assert text(tab, "#parse") != ""
    assert computed(tab, draw, output=OUTPUTS[3]) == ["the", "dog", "sees", "S"]
    assert text(tab, "#parse p") == "This output is no tree over these words."


def without_a_head(weights):
    weights["encoder.0.self_attention.output.weight"][:, 4:8] = 0  # of head 2, whose values are 4 wide


def without_a_sublayer(weights):
    for name in ("weight", "bias"):
        weights[f"decoder.1.position_wise.outer.{name}"].zero_()


@pytest.mark.parametrize(
    ("taken", "config", "change"),
    [
        ("scaling: true", {"attention": "unscaled"}, None),
        ("positions: true", {"positions": "none"}, None),
        ('parts: new Set(["encoder.0.self_attention.1"])', {}, without_a_head),
        ('parts: new Set(["decoder.1.residuals.2"])', {}, without_a_sublayer),
    ],
)
def test_a_part_taken_away_is_one_that_the_network_lacks(tab, opened, save, taken, config, change):
    folder = save(N=2, h=3, d_k=6, d_v=4)
    opened(folder)
    loaded = load_package(folder, torch.device("cpu"))
    weights = loaded.model.state_dict()
    if change:
        change(weights)
    model = network(dataclasses.replace(loaded.model.config, **config), loaded.config.vocabulary).eval()
    model.load_state_dict(weights)
    [source, target] = loaded.subwords.encode(["the cat sees a dog .", "a dog finds the tree ."])
    code = f"""
    let state = model.begin(ids, {{ {taken} }});
    return [null, ...output].map((id) => {{
      const [next] = model.next([state], [id]);
      state = next.state;
      return [...next.logits];
    }});
    """
    theirs = computed(tab, code, ids=source, output=target[:-1])
    with torch.inference_mode():
        ours = model.logits(model(Rows.of(torch.tensor([source])), Rows.of(torch.tensor([target]))))[0]
    assert torch.tensor(theirs) == pytest.approx(ours, abs=1e-4)

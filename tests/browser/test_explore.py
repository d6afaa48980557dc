"""The page in which packages run computes what PyTorch computes, and works as a reader uses it."""

import json
import os
import tarfile
from pathlib import Path

import pytest
import torch

from transformer.decoding.beam import beam_search
from transformer.decoding.search import Search, Sentence
from transformer.evaluation.attention import weights_of_all
from transformer.explore.page import write_page
from transformer.model.config import AttentionOverParametersConfig
from transformer.model.masks import Rows
from transformer.package.config import read_package_config
from transformer.package.loading import load_package

pytestmark = pytest.mark.browser
ROOT = Path(__file__).parents[2]
MODELS = sorted(path.parent for path in ROOT.glob("models/**/package/config.json"))
COUNT = int(os.environ.get("EXPLORE_LINES", "50"))  # lines of a shipped model's test set
ODD = [
    *("", " ", "\x00", "a\x00b", "\ufb01ne \u00bd \u2460", "\u65e5\u672c\u8a9e text", "\U0001f642\U0001f642 ok"),
    *("\u2581\u2581a \u2581", "  two  blanks  ", "\u200b", "e\u0301\u0301", "x" * 300, "\uff21\uff22\uff23", "\ufffd"),
    *("a\u0085b", "\ufdfd", "</s> <unk>", "a\tb\n c", "\u202e\u05e9\u05dc\u05d5\u05dd", "the cat " * 250, "\u2047 ?"),
]
SETUP = """
const { Transformer } = await import("network");
const { Subwords } = await import("subwords");
const { readTensors } = await import("vectors");
const { beamSearch, limitOf } = await import("beam");
const { computed, greedy } = await import("sentence");
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
  return { ids, taken, found, greedy: greedy(loaded, ids), texts: found.map(([ids]) => subwords.decode(ids)) };
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

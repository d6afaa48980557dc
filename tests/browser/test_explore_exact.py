"""The page in which packages run computes what PyTorch computes."""

import dataclasses
import os
import tarfile
from pathlib import Path

import pytest
import torch

from tests.browser.reader import computed
from transformer.decoding.beam import beam_search
from transformer.decoding.search import Search, Sentence
from transformer.evaluation.attention import weights_of_all
from transformer.model.config import AttentionOverParametersConfig
from transformer.model.masks import Rows
from transformer.model.networks import network
from transformer.package.loading import load_package

pytestmark = pytest.mark.browser
ROOT = Path(__file__).parents[2]
MODELS = sorted(path.parent for path in ROOT.glob("models/**/package/config.json"))
COUNT = int(os.environ.get("EXPLORE_LINES", "50"))  # lines of a shipped model's test set, which has 1,000
ODD = [
    *("", " ", "\x00", "a\x00b", "\ufb01ne \u00bd \u2460", "\u65e5\u672c\u8a9e text", "\U0001f642\U0001f642 ok"),
    *("\u2581\u2581a \u2581", "  two  blanks  ", "\u200b", "e\u0301\u0301", "x" * 300, "\uff21\uff22\uff23", "\ufffd"),
    *("a\u0085b", "\ufdfd", "</s> <unk>", "a\tb\n c", "\u202e\u05e9\u05dc\u05d5\u05dd", "the cat " * 250, "\u2047 ?"),
]
SEARCH = """
return lines.map((line) => {
  const ids = subwords.encode(line);
  const { beam, alpha, extra } = about.config.decoding;
  const how = { width: beam, alpha, limit: limitOf(about.config.architecture, ids, extra), nbest };
  const start = performance.now();
  const found = ended(beamSearch(model, ids, how)).map(({ ids, score }) => [ids, score]);
  const taken = performance.now() - start;
  const greedy = ended(computed(loaded, line, ids)).output;
  return { ids, taken, found, greedy, texts: found.map(([ids]) => subwords.decode(ids)) };
});
"""


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
    const data = ended(computed(loaded, lines[0], ids, output));
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


def test_the_page_can_answer_between_the_layers_and_the_steps(tab, opened, save):
    folder = save(N=2)
    opened(folder)
    code = "const how = { width: 3, alpha: 1, limit: 4, nbest: true };"
    code += "return [[...model.encode(ids)], [...beamSearch(model, ids, how)]].map((pauses) => pauses.length);"
    encoder, search = computed(tab, code, ids=load_package(folder, torch.device("cpu")).subwords.encode(["the cat"])[0])
    assert encoder == 2 * 2
    assert search > encoder + 1


def test_subwords_of_odd_lines_are_ours(tab, opened, save):
    for folder in (save(), *MODELS):
        opened(folder)
        ours = load_package(folder, torch.device("cpu")).subwords.encode(ODD)
        theirs = computed(tab, "return lines.map((line) => subwords.encode(line))", lines=ODD)
        assert [line for line, one, other in zip(ODD, theirs, ours, strict=True) if one != other] == []


@pytest.mark.parametrize("folder", MODELS, ids=lambda path: "/".join(path.parts[-5:-2]))
def test_a_shipped_model_translates_its_test_lines_as_ours_does(tab, opened, folder):
    loaded = load_package(folder, torch.device("cpu"))
    with tarfile.open(ROOT / "models/translations.tar.xz") as archive:
        name = f"translations/{folder.relative_to(ROOT / 'models').parent}/test.source"
        lines = archive.extractfile(name).read().decode().splitlines()[:COUNT]
    opened(folder)
    equal, taken = agree(tab, loaded, lines, nbest=False)
    print(f"{folder}: {equal} of {len(lines)} lines equal; {taken / len(lines):.0f} ms a line with the beam")
    assert equal >= 0.99 * len(lines)


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
    let state = ended(model.begin(ids, {{ {taken} }}));
    return [null, ...output].map((token) => {{
      const [next] = model.next([{{ state, token }}]);
      state = next.state;
      return [...next.logits];
    }});
    """
    theirs = computed(tab, code, ids=source, output=target[:-1])
    with torch.inference_mode():
        ours = model.logits(model(Rows.of(torch.tensor([source])), Rows.of(torch.tensor([target]))))[0]
    assert torch.tensor(theirs) == pytest.approx(ours, abs=1e-4)

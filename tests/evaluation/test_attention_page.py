import base64
import json
from html.parser import HTMLParser

import numpy as np
import pytest
import torch
from hypothesis import example, given
from hypothesis import strategies as st

from transformer.decoding.beam import Hypothesis
from transformer.decoding.translate import Translation
from transformer.evaluation import attention_page as module
from transformer.evaluation.attention import weights_of_all
from transformer.evaluation.attention_page import attention_page
from transformer.model.config import POSITIONS
from transformer.model.ids import END
from transformer.package.loading import load_package
from transformer.support.files import InputError

LINES = ['the cat <b>sees</b> "a" dog & a tree .', "", "a dog ."]


class Page(HTMLParser):
    """The JSON of each script, by class, with its label; tags and their attributes."""

    def __init__(self, text):
        super().__init__()
        self.found, self.tags, self.open = {"model": [], "sentence": []}, [], None
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        values = dict(attributes)
        self.tags.append((tag, values))
        self.open = values if tag == "script" and "type" in values else None

    def handle_data(self, data):
        if self.open:
            self.found[self.open["class"]].append((self.open["data-label"], json.loads(data)))
            self.open = None


def made(path, loaded, translations, kind="encoder", layer=1):
    """The parsed page of some translations."""
    with attention_page(path, loaded, kind, layer) as show:
        for number, translation in enumerate(translations, 1):
            show(number, translation)
        assert not path.exists()
    return Page(path.read_text(encoding="utf-8"))


def bytes_of(text):
    return np.frombuffer(base64.b64decode(text), np.uint8)


@pytest.mark.parametrize(
    ("network", "kinds"),
    [
        ("transformer", ["encoder", "decoder", "encoder-decoder"]),
        ("recurrent", ["encoder-decoder"]),
        ("convolutional", ["encoder-decoder"]),
    ],
)
def test_each_line_has_its_subwords_and_all_weights_as_bytes(package, tmp_path, translations, network, kinds):
    loaded = package(N=2, network=network, positions=POSITIONS.get(network, "sinusoidal"), max_length=100)
    found = list(translations(loaded, LINES, 2, 200))
    page = made(tmp_path / "out" / "page.html", loaded, found, layer=1)
    [(_, model)] = page.found["model"]
    shape = {"transformer": (2, 2), "recurrent": (1, 1), "convolutional": (2, 1)}[network]
    assert model == {
        "kinds": kinds, "layers": shape[0], "heads": shape[1], "steps": 255, "kind": kinds[0], "layer": 1
    }  # fmt: skip
    assert [label for label, _ in page.found["sentence"]] == [f"{i}. {line}" for i, line in enumerate(LINES, 1)]
    for (_, content), translation in zip(page.found["sentence"], found, strict=True):
        assert (content["source"], content["target"]) == (translation.line, translation.texts[0])
        if not translation.line:
            assert content["note"] == "This line is empty."
            assert "weights" not in content
            continue
        ids = translation.hypotheses[0].ids
        assert content["pieces"]["source"] == loaded.subwords.pieces(translation.line)
        assert content["pieces"]["target"] == loaded.subwords.processor.id_to_piece(ids)
        weights = weights_of_all(loaded.model, translation.source, [*ids, END])
        assert list(content["weights"]) == list(weights) == kinds
        for kind, exact in weights.items():
            np.testing.assert_allclose(bytes_of(content["weights"][kind]) / 255, exact.flatten(), atol=0.5001 / 255)


def test_a_sentence_too_long_for_the_page_says_so_there(package, tmp_path):
    sentence = Translation("the cat", [5, END], [Hypothesis([5] * 256, 0.0)], ["x"])
    page = made(tmp_path / "page.html", package(), [sentence])
    [(_, content)] = page.found["sentence"]
    assert content["note"] == "This sentence has 257 subwords, and the page shows at most 256. Split the line."
    assert "weights" not in content


def test_a_parsers_page_has_the_tree_of_its_output(save, change_package, tmp_path):
    folder = save()
    change_package(folder, kind="parsing")
    loaded = load_package(folder, torch.device("cpu"))
    source = loaded.subwords.encode(["a dog"])[0]
    page = made(
        tmp_path / "page.html", loaded, [Translation("a dog", source, [Hypothesis([5], 0.0)], ["(NP XX XX )NP"])]
    )
    [(_, content)] = page.found["sentence"]
    assert content["tree"]["brackets"] == "(NP (XX a) (XX dog))"
    assert content["tree"]["repaired"] is False
    assert ">dog</text>" in content["tree"]["svg"]


def test_nothing_from_elsewhere_is_loaded(package, tmp_path):
    page = made(tmp_path / "page.html", package(), [])
    assert not {"link", "iframe", "base"} & {tag for tag, _ in page.tags}
    assert not {"src", "href"} & {name for _, attributes in page.tags for name in attributes}
    [policy] = [values["content"] for tag, values in page.tags if "http-equiv" in values]
    assert policy.startswith("default-src 'none';")
    text = (tmp_path / "page.html").read_text()
    assert "//" not in text.replace(" // ", "")
    assert "url(" not in text


def test_a_page_that_fails_half_way_is_not_written(package, tmp_path):
    path = tmp_path / "out" / "page.html"
    with pytest.raises(InputError, match="line 2"), attention_page(path, package(), "encoder", 1):
        raise InputError("line 2")
    assert not list(path.parent.iterdir())


@given(st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0\r\n"), max_size=30))
@example("</script><script>alert(1)</script>")
@example("<!-- <script> -->")
@example("\" onload='x' &amp; \\")
def test_no_text_leaves_its_place(text):
    page = Page(module._script("sentence", {"source": text}, text))
    assert page.found["sentence"] == [(text, {"source": text})]
    assert len(page.tags) == 1


def test_a_hostile_sentence_is_shown_as_it_is(package, tmp_path, translations):
    loaded, line = package(), "</script><script>alert(1)</script> \u202eשלום\u202c e\u0301\u0301\u2028\ufeff"
    page = made(tmp_path / "page.html", loaded, translations(loaded, [line], 1, 200))
    [(label, content)] = page.found["sentence"]
    assert (label, content["source"]) == (f"1. {line}", line)
    assert len([tag for tag, _ in page.tags if tag == "script"]) == 3

from html.parser import HTMLParser

import pytest
import torch

from transformer.evaluation.attention_page import attention_page
from transformer.support.files import InputError

LINES = ['the cat <b>sees</b> "a" dog & a tree .', "", "a dog ."]


class Page(HTMLParser):
    """Each line's heading, columns, rows and their weights."""

    def __init__(self, text):
        super().__init__()
        self.sections, self.tags = [], [""]
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        self.tags.append(tag)
        if tag == "section":
            self.sections.append({"weights": [], "shades": [], "h2": "", "th": []})
        elif tag == "td":
            values = dict(attributes)
            self.sections[-1]["weights"].append(float(values["title"].rsplit(": ")[-1]))
            self.sections[-1]["shades"].append(float(values["style"].removeprefix("--w:")))
        elif tag == "th":
            self.sections[-1]["th"].append("")

    def handle_data(self, data):
        if self.tags[-1] == "th":
            self.sections[-1]["th"][-1] += data.strip("\n")
        elif self.tags[-1] in ("h2", "small", "br"):
            self.sections[-1]["h2"] += data


@pytest.mark.parametrize(
    ("network", "shown"),
    [
        ("transformer", "Encoder-decoder attention of the last decoder layer, mean over 2 heads."),
        ("recurrent", "The decoder's attention over the encoder's output."),
    ],
)
def test_each_line_has_the_weights_of_the_last_attention_as_shades(package, tmp_path, translations, network, shown):
    loaded, path = package(N=2, network=network), tmp_path / "out" / "page.html"
    found = list(translations(loaded, LINES, 2, 200))
    with attention_page(path, loaded) as show:
        for number, translation in enumerate(found, 1):
            show(number, translation)
        assert not path.exists()
    assert shown in path.read_text(encoding="utf-8")
    sections = Page(path.read_text(encoding="utf-8")).sections
    assert len(sections) == 3
    for number, (section, translation) in enumerate(zip(sections, found, strict=True), 1):
        assert section["h2"].startswith(f"{number}{translation.line}")
        target = translation.hypotheses[0].ids
        if not target:
            assert not section["weights"]
            continue
        names = loaded.subwords.processor.id_to_piece
        assert section["th"] == ["", *names(translation.source), *names(target)]
        with torch.no_grad():
            weights = loaded.model.last_attention_weights(torch.tensor([translation.source]), torch.tensor([target]))
        assert section["weights"] == section["shades"] == pytest.approx(weights[0].mean(0).flatten().tolist(), abs=6e-4)


def test_nothing_from_elsewhere_is_loaded(package, tmp_path):
    with attention_page(tmp_path / "page.html", package()):
        pass
    text = (tmp_path / "page.html").read_text()
    assert not {"script", "link", "img"} & set(Page(text).tags)
    assert "http" not in text
    assert "url(" not in text


def test_a_page_that_fails_half_way_is_not_written(package, tmp_path):
    path = tmp_path / "out" / "page.html"
    with pytest.raises(InputError, match="line 2"), attention_page(path, package()):
        raise InputError("line 2")
    assert not list(path.parent.iterdir())

"""The attention page as a reader uses it: by mouse, by keyboard, on a phone, in the dark."""

import pytest

from transformer.evaluation.attention import word_attention
from transformer.evaluation.attention_page import attention_page

pytestmark = pytest.mark.browser
SENTENCE = "the well-known cat finds a zebra ."
HOSTILE = [
    "</script><script>broken = 1</script>",
    "<img src=x onerror='broken = 1'>",
    "a \"quoted\" 'cat' & a `dog` \\ ${broken = 1}",
    "\u202eשלום\u202c عالم",
    "e\u0301\u0301 \u2028 the cat",
]


@pytest.fixture
def opened(tab, package, translations, tmp_path):
    """Open the page of some sentences; at the end of the test, the browser must have had nothing to complain about."""

    def open_page(lines=(SENTENCE, "a dog .", ""), width=1280, dark=False, **changes):
        loaded, path = package(**{"N": 3, **changes}), tmp_path / "page.html"
        with attention_page(path, loaded, "encoder", 2) as show:
            for number, translation in enumerate(translations(loaded, lines, 1, 200), 1):
                show(number, translation)
        tab.open(path, width, dark)
        return loaded

    yield open_page
    assert not tab.complaints
    asked = [e["params"]["request"]["url"] for e in tab.events if e["method"] == "Network.requestWillBeSent"]
    assert [url.partition(":")[0] for url in asked] == ["file"]


def reading(tab):
    return tab.value("document.getElementById('reading').textContent")


def word(side, place):
    return f"#{side} .word:nth-child({place + 1})"


def control(name, value):
    return f"form [name={name}][value={value}]"


def pick(tab, name, value):
    """Choose in a list, as a browser's own list does it."""
    tab.value(
        f"document.forms[0].{name}.value = '{value}'; "
        f"document.forms[0].{name}.dispatchEvent(new Event('change', {{bubbles: true}}))"
    )


def numbers(tab):
    """The table under the drawing: a word's weights, by its name."""
    rows = tab.value("[...document.querySelectorAll('#details tr')].map(row => [...row.cells].map(c => c.textContent))")
    return {name: [float(weight) for weight in weights] for name, *weights in rows[1:]}


def lines(tab):
    return tab.value("document.querySelectorAll('#lines line').length")


def test_pointing_at_a_word_tells_its_weights_between_words_as_the_figures_have_them(tab, opened):
    loaded = opened()
    expected = word_attention(loaded, SENTENCE, 2)
    for place in (2, 5):
        tab.point(word("queries", place))
        assert reading(tab).startswith(f"\u201c{expected.words[place]}\u201d reads ")
        assert reading(tab).endswith("(encoder attention, layer 2, mean of all 2 heads).")
        weights_of = numbers(tab)
        for i, key in enumerate(expected.words):
            each = [head[place][i] for head in expected.weights]
            assert weights_of[key] == pytest.approx([sum(each) / 2, *each], abs=0.02)
        means = [weights[0] for weights in weights_of.values()]
        assert means == sorted(means, reverse=True)
    tab.point(word("keys", 5))
    assert reading(tab).startswith("\u201czebra\u201d is read by ")
    assert numbers(tab)["cat"][1] == pytest.approx(expected.weights[0][2][5], abs=0.02)


def test_words_are_reached_by_keyboard_and_said_by_a_live_region(tab, opened):
    opened()
    tab.point("#queries-name", click=True)
    tab.press("Escape")
    assert reading(tab) == ""
    everything = lines(tab)
    tab.press("Tab")
    first = reading(tab)
    assert first.startswith("\u201cthe\u201d reads ")
    assert 0 < lines(tab) < everything
    tab.press("ArrowRight")
    assert reading(tab).startswith("\u201cwell-known\u201d reads ")
    tab.press("ArrowLeft")
    assert reading(tab) == first
    tab.press("Tab")
    assert reading(tab).startswith("\u201cthe\u201d is read by ")
    focused = "getComputedStyle(document.activeElement.parentElement).outlineStyle"
    assert tab.value(focused) == "solid"
    assert tab.value("document.getElementById('reading').getAttribute('aria-live')") == "polite"
    tab.press("Escape")
    assert (reading(tab), lines(tab)) == ("", everything)


def test_every_control_has_a_name_and_the_drawing_is_hidden_from_screen_readers(tab, opened):
    opened()
    nodes = tab.call("Accessibility.getFullAXTree")["nodes"]
    roles = {"radio", "checkbox", "combobox", "button", "radiogroup"}
    named = [(n["role"]["value"], n["name"]["value"]) for n in nodes if n.get("role", {}).get("value") in roles]
    assert all(name for _, name in named)
    assert {("radiogroup", "Source (reads)"), ("radio", "zebra"), ("radio", "encoder-decoder")} <= set(named)
    assert {("checkbox", "head 2"), ("button", "all heads")} <= set(named)
    assert {("combobox", "Sentence"), ("combobox", "Layer")} <= set(named)
    assert tab.value("document.querySelector('#lines svg').getAttribute('aria-hidden')") == "true"


def test_kind_layer_and_heads_are_chosen(tab, opened):
    opened()
    tab.point(word("queries", 1))
    seen = {str(numbers(tab))}
    tab.point(control("kind", "decoder"), click=True)
    assert tab.value("document.querySelector('#keys .word').textContent") == "<start>"
    tab.point(control("unit", "subwords"), click=True)
    tab.point(word("queries", 0))
    assert numbers(tab) == {"<start>": [1.0, 1.0, 1.0]}
    tab.point(control("unit", "words"), click=True)
    tab.point(control("kind", "encoder-decoder"), click=True)
    tab.point(word("queries", 0))
    assert "zebra" in numbers(tab)
    seen.add(str(numbers(tab)))
    pick(tab, "layer", 3)
    assert "(encoder-decoder attention, layer 3, mean of all 2 heads)" in reading(tab)
    seen.add(str(numbers(tab)))
    assert len(seen) == 3
    both = numbers(tab)
    tab.point("#heads label:nth-of-type(1) input", click=True)
    assert "layer 3, head 2)" in reading(tab)
    assert {name: weights[0] for name, weights in numbers(tab).items()} == {name: w[2] for name, w in both.items()}
    tab.point("#none", click=True)
    assert reading(tab) == "No head is chosen."
    assert lines(tab) == 0
    tab.point("#all", click=True)
    several = lines(tab)
    tab.point("form [name=mean]", click=True)
    assert 0 < lines(tab) < several
    assert {name: weights[0] for name, weights in numbers(tab).items()} == {name: w[0] for name, w in both.items()}


def test_words_come_apart_into_subwords_and_the_chosen_one_stays(tab, opened):
    loaded = opened()
    tab.point(word("queries", 5))
    tab.point(control("unit", "subwords"), click=True)
    shown = tab.value("[...document.querySelectorAll('#queries .word')].map(each => each.textContent)")
    assert shown == [*loaded.subwords.pieces(SENTENCE), "<EOS>"]
    assert reading(tab).startswith("\u201c\u2581 (word ")
    tab.point(control("unit", "words"), click=True)
    assert reading(tab).startswith("\u201czebra\u201d")


def test_a_table_shows_all_weights(tab, opened):
    loaded = opened()
    expected = word_attention(loaded, SENTENCE, 2)
    tab.point(control("view", "matrix"), click=True)
    cells = tab.value("[...document.querySelectorAll('#matrix td[title]')].map(each => +each.textContent)")
    mean = [sum(w) / 2 for one, other in zip(*expected.weights, strict=True) for w in zip(one, other, strict=True)]
    assert cells == pytest.approx(mean, abs=0.02)
    assert tab.value("document.getElementById('lines').offsetHeight") == 0


def test_another_sentence_is_chosen_and_an_empty_one_says_so(tab, opened):
    opened()
    pick(tab, "sentence", 1)
    assert tab.value("document.getElementById('source').textContent") == "a dog ."
    assert tab.value("document.querySelectorAll('#queries .word').length") == 4
    pick(tab, "sentence", 2)
    assert tab.value("document.getElementById('note').textContent") == "This line is empty."
    assert tab.value("document.getElementById('lines').offsetHeight") == 0
    tab.press("Escape")


@pytest.mark.parametrize("dark", [False, True])
def test_a_phone_shows_the_page_without_scrolling_sideways(tab, opened, dark):
    opened([" ".join(["the well-known cat"] * 6)], 390, dark)
    assert tab.value("document.documentElement.scrollWidth") <= 390
    assert tab.value("document.getElementById('lines').classList.contains('columns')")
    assert lines(tab) > 0
    background = "getComputedStyle(document.body).backgroundColor"
    assert tab.value(background) == ("rgb(23, 24, 27)" if dark else "rgb(255, 255, 255)")


def test_a_recurrent_networks_page_has_its_one_attention(tab, opened):
    opened(network="recurrent")
    tab.point(word("queries", 0))
    assert reading(tab).endswith("(encoder-decoder attention).")
    hidden = [f"form [value={kind}]" for kind in ("encoder", "decoder")] + ["#heads", "form [name=layer]"]
    assert [tab.value(f"document.querySelector('{each}').offsetWidth") for each in hidden] == [0] * 4


def test_hostile_sentences_are_text(tab, opened):
    opened(HOSTILE)
    for number, sentence in enumerate(HOSTILE):
        pick(tab, "sentence", number)
        assert tab.value("document.getElementById('source').textContent") == sentence
        assert tab.value(f"document.forms[0].sentence.options[{number}].textContent") == f"{number + 1}. {sentence}"
        tab.point(word("queries", 0))
        assert reading(tab)
    assert tab.value("typeof broken") == "undefined"
    assert tab.value("document.querySelectorAll('main img').length") == 1

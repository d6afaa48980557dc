"""Numbers in docs/paper beside the released tables and figures."""

import re

from tests.pages import ROOT
from tests.released_tables import bleu, cell, gain, perplexity, text_of


def claim(text, measure="*"):
    """How much the replication is in favour of a claim, without the sign."""
    return cell("replication/claims", "In favour, ours", Claim=text, Measure=measure).strip("+-").removeprefix("base ")


def test_the_results_on_the_pages_of_the_paper_are_those_of_the_released_tables():
    pairs, table1 = "English-German", "Self-Attention"
    test = {
        model: bleu("replication/table2", "en-de", f"*{model}*")[0]
        for model in ("Recurrent", "Convolutional", "(base", "(big")
    }
    costs = [
        cell("replication/table2", f"Training cost (FLOPs), {whose}", Pair="en-de", Model="Transformer (base model)")
        for whose in ("ours, estimated", "published")
    ]
    f1 = [cell("wsj-cpu/table4", "F1, ours", Training=each, Parser="Transformer*") for each in ("WSJ only*", "semi*")]
    read, left = (
        cell("quick/corpora", "Pairs, left", Task="ende", **{"Step or part": part}) for part in ("read", "train")
    )
    eight, sixteen = (claim(f"*({heads} heads) is a little *") for heads in (8, 16))
    learned = claim("Learned positions*", "BLEU*").removeprefix("E-learned ").removesuffix(" better")
    here = {"of": "replication"}
    layers = [gain(f"C-N{layers}", **here) for layers in (2, 4, 8)]
    told = {
        "attention-over-parameters": [f"has {eight} BLEU more than base with 8 heads, and {sixteen} more with 16"],
        "attention": [
            f"scaled dot products have {claim('*dot products need scaling')} % less",
            f"attention {claim('*additive attention beats*')} % less",
            f"a step takes {claim('Eight heads*')} % longer",
        ],
        "feed-forward": [
            f"perplexity is {perplexity('C-ff1024', digits=1, **here)} % higher",
            f"twice as much {perplexity('C-ff4096', digits=1, **here)} % lower",
        ],
        "introduction": [
            f"base has {test['(base']} BLEU on test",
            f"the same size have {test['Recurrent']} (recurrent) and {test['Convolutional']} (convolutional)",
        ],
        "parsing": ["F1 is {} from trees alone and {} with".format(*(f"{float(each):.1f}" for each in f1))],
        "positions": [
            f"learned positions have {learned} BLEU more",
            f"sinusoids have {claim('Sinusoids reach*')} % less",
        ],
        "stacks": ["costs {} BLEU, two thirds cost {}, and four thirds cost {}".format(*layers)],
        "training": [
            f"reads {read} {pairs} pairs and keeps {left}, those that",
            "which cost {} FLOPs, estimated as the paper does; the paper's 100,000 steps cost {}.".format(*costs),
            f"smoothing costs {claim('Label smoothing hurts*')} % in perplexity",
            f"gains {claim('Label smoothing improves*')} BLEU",
        ],
        "translation": [
            f"big has {test['(big']} BLEU on test and base {test['(base']}: a gain of {claim('Big is better*German')}"
        ],
        "why-self-attention": [
            f"to the power of {cell('quick/table1', 'Time, exponent, n', Layer=table1)} and d to the power of "
            f"{cell('quick/table1', 'Time, exponent, d', Layer=table1)}, where"
        ],
    }
    missing = [
        (page, text) for page, texts in told.items() for text in texts if text not in text_of(f"docs/paper/{page}.md")
    ]
    assert missing == []
    assert f"and {round(float(costs[1]) / float(costs[0]), -3):,.0f} times fewer FLOPs of training" in text_of(
        "docs/faq.md"
    )


def test_the_first_choices_of_the_heads_are_those_that_the_figures_name():
    page = text_of("docs/paper/visualisations.md")
    figures = [(ROOT / f"docs/quick/figures/figure{number}.svg").read_text() for number in (3, 4, 5)]
    first = [re.findall(r"<!-- head \d: “(.+?)” ([\d.]+) -->", figure) for figure in figures]
    assert [len(each) for each in first] == [8, 2, 0]
    assert {word for word, _ in first[0]}.isdisjoint(("more", "difficult"))
    assert all(f'"{word}"' in page for word, _ in first[0])
    assert f"the largest weight is {max(weight for _, weight in first[0])}." in page
    assert "prefer {} and {}, not".format(*(f'"{word}" ({weight})' for word, weight in first[1])) in page
    (mean,) = re.findall(r"gives ([\d.]+) to its first choice on average", figures[1])
    assert f"head 5 gives {mean} of a word's weight" in page
    assert '"{}" to "{}" ({})'.format(*_strongest(figures[2])) in page


def _strongest(figure):
    """The strongest line of the first panel: from, to and weight."""
    weight, asking, asked = re.search(r"at most ([\d.]+), from “(.+?)” to “(.+?)”", figure).groups()
    return asking, asked, weight

import dataclasses
from collections import Counter
from functools import reduce
from operator import getitem

import pytest

from transformer.decoding.record import read_record
from transformer.evaluation.bleu import paper_bleu
from transformer.evaluation.metrics import METRICS, Output, in_words, keys, metrics_of
from transformer.evaluation.score import score
from transformer.support.files import write_lines
from transformer.trees.linear import linearise
from transformer.trees.penn import read_tree

TREE = "(S (NP (DT the) (NN cat)) (VP (VBZ sees) (NP (DT a) (NN dog))) (. .))"
KINDS = ["translation", "parsing"]


@pytest.fixture
def record(package, tmp_path, recorded):
    """The record that `score` makes of two sentences, for a package of either kind."""

    def make(kind):
        loaded = package()
        loaded = dataclasses.replace(loaded, config=dataclasses.replace(loaded.config, kind=kind))
        form = linearise(read_tree(TREE))
        reference, right = (TREE, form) if kind == "parsing" else ("the dog likes a cat .",) * 2
        write_lines(tmp_path / "reference", [reference] * 2)
        write_lines(translation := tmp_path / "translation", [right, right.rsplit(" ", 1)[0]])
        recording = read_record(recorded(tmp_path / "package", translation), translation, loaded.config)
        output = Output(5.5, translation, tmp_path / "reference", loaded.config.target)
        return score(loaded.config, "dev", recording, output)

    return make


def value(record, key):
    return reduce(getitem, key.split("."), record)


@pytest.mark.parametrize("kind", KINDS)
def test_every_column_is_found_in_a_record_of_its_kind(record, kind):
    made = record(kind)
    for metric in metrics_of(kind, second=True):
        for column in (*metric.columns, *metric.details):
            assert isinstance(value(made, column.key), int | float), column.key
            assert column.key.split(".")[0] == metric.key


def test_every_metric_has_a_kind_of_task_and_its_own_key():
    every = {metric.key for kind in KINDS for metric in metrics_of(kind, second=True)}
    assert every == {metric.key for metric in METRICS}
    assert [metric.key for kind in KINDS for metric in metrics_of(kind, shared=False, second=True)] == [
        metric.key for metric in METRICS if metric.kind
    ]
    assert max(Counter(metric.key for metric in METRICS).values()) == 1
    assert max(Counter(keys()).values()) == 1


@pytest.mark.parametrize("kind", KINDS)
def test_a_record_in_words_has_every_heading_number_and_signature(record, kind):
    made = record(kind)
    text = in_words(made, kind)
    for metric in metrics_of(kind, second=True):
        for column in metric.columns:
            assert f"{column.heading} {value(made, column.key):.{column.digits}f}" in text
        if isinstance(made[metric.key], dict) and "signature" in made[metric.key]:
            assert f" ({value(made, metric.signature)})" in text
    assert text.count("(") == {"translation": 3, "parsing": 0}[kind]


@pytest.fixture
def scored(tmp_path):
    """The result of a metric for translations of references into a language."""

    def make(key, translations, references, language="en"):
        output = Output(1.0, tmp_path / "translations", tmp_path / "references", language)
        write_lines(output.translations, translations)
        write_lines(output.reference, references)
        [metric] = [metric for metric in METRICS if metric.key == key]
        return metric.function(output)

    return make


def test_the_paper_s_bleu_has_tokens_of_the_target_s_language(scored):
    texts = ["l' homme dort bien ici"], ["l'homme dort bien ici"]
    found = {language: scored("paper_bleu", *texts, language)["score"] for language in ("en", "fr")}
    assert found == {language: paper_bleu(*texts, language).score for language in found}
    assert found["en"] != found["fr"]


@pytest.mark.parametrize(("adjectives", "f1"), [(35, 50), (36, 100)])
def test_f1_up_to_40_words_leaves_out_longer_sentences(scored, adjectives, f1):
    """The second tree has so many adjectives and five other words, one of them a point. Its parse is wrong."""
    long = f"(S (NP (DT the) {'(JJ big) ' * adjectives}(NN cat)) (VP (VBZ sees) (NP (NN dogs))) (. .))"
    wrong = long.replace("(NP", "(PP").replace("(VP", "(PP").replace("(S", "(X")
    parses = [linearise(read_tree(tree)) for tree in (TREE, wrong)]
    found = scored("brackets", parses, [TREE, long])
    assert found["up_to_40_words"]["f1"] == pytest.approx(f1)
    assert found["f1"] == pytest.approx(50)

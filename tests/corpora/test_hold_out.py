import json
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from transformer.corpora.hold_out import HoldOut, hold_out
from transformer.corpora.parts import Given, write_part, write_whole
from transformer.corpora.texts import Files
from transformer.support.characters import normalised
from transformer.support.files import InputError, read_lines
from transformer.support.strict import ConfigError, load, plain

PAIRS = [(f"source {i}", f"target {i}") for i in range(40)]


@pytest.fixture
def write(tmp_path):
    """Writes a corpus to the folder `own`, from texts of these pairs, and returns its parts and its record."""

    def write(pairs, hold_out):
        texts = {}
        for side, lines in zip(("en", "de"), zip(*pairs, strict=True), strict=True):
            texts[side] = str(tmp_path / f"train.{side}")
            Path(texts[side]).write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
        corpus = Files(origin="files", train=(texts,), hold_out=HoldOut(**hold_out))
        folder = tmp_path / "own"
        write_whole(corpus, folder, Given(Path("corpus.yaml"), tmp_path), name="own", source="en", target="de")
        return parts_of(folder), json.loads((folder / "corpus.json").read_text())

    return write


def parts_of(folder):
    def pairs(part):
        return list(zip(*(read_lines(folder / f"{part}.{side}") for side in ("source", "target")), strict=True))

    return {path.stem: pairs(path.stem) for path in folder.glob("*.source")}


def test_pairs_of_train_become_dev_and_test_and_the_record_counts_them(write):
    parts, record = write([*PAIRS, ("", "x")], {"dev": 3, "test": 5})
    assert record["pairs"] == {part: len(pairs) for part, pairs in parts.items()} == {"train": 32, "dev": 3, "test": 5}
    assert sorted(pair for pairs in parts.values() for pair in pairs) == sorted(PAIRS)
    assert record["read"] == 41
    assert {step: count for step, count in record["removed"].items() if count} == {
        **{"empty side": 1, "held out for dev": 3, "held out for test": 5},
    }
    assert list(record["removed"])[-1] == "sentence of dev or test"


def test_the_seed_and_the_text_alone_decide_which_pairs_are_held_out(write):
    first, _ = write(PAIRS, {"dev": 3, "test": 5})
    again, _ = write(PAIRS[::-1], {"dev": 3, "test": 5})
    other, _ = write(PAIRS, {"dev": 3, "test": 5, "seed": 2})
    assert again["dev"] == first["dev"]
    assert again["test"] == first["test"]
    assert other["dev"] != first["dev"]
    assert [source for source, _ in first["dev"]] == ["source 4", "source 38", "source 14"]  # in all versions


@settings(max_examples=50)
@given(
    st.lists(st.tuples(*2 * [st.text("ab \u00a0ａ", min_size=1, max_size=3).filter(str.strip)]), min_size=1),
    st.integers(1, 3),
    st.integers(1, 3),
)
def test_no_part_has_a_sentence_of_another(tmp_path_factory, pairs, dev, test):
    folder, removed = tmp_path_factory.mktemp("own"), {}
    write_part(folder, "train", pairs, {}, "own")
    try:
        sizes = hold_out(folder, HoldOut(dev=dev, test=test), removed, "own")
    except InputError:
        return
    parts = parts_of(folder)
    assert {part: len(each) for part, each in parts.items()} == sizes
    assert sizes["train"] + sum(removed.values()) == len(pairs)
    for side in (0, 1):
        sentences = {part: {normalised(pair[side]) for pair in each} for part, each in parts.items()}
        assert sum(map(len, sentences.values())) == len(set().union(*sentences.values()))
        assert (len(sentences["dev"]), len(sentences["test"])) == (dev, test)


def test_too_few_pairs_are_refused_with_both_numbers(write):
    with pytest.raises(InputError, match=r"corpora.own.hold_out: train has only 40 pairs .* for 30 of dev and 11 of"):
        write(PAIRS, {"dev": 30, "test": 11})
    with pytest.raises(InputError, match=r"train has no pair left; .* or hold out fewer .*held out for dev: 30"):
        write(PAIRS, {"dev": 30, "test": 10})


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({}, "dev: missing; name its texts, or hold pairs of train out, as in hold_out: {dev: 1000, test: 2000}"),
        ({"hold_out": {"test": 5}}, "dev: missing; name its texts"),
        ({"hold_out": {}}, "hold out pairs for dev, for test, or for both"),
        ({"hold_out": {"dev": 1, "test": 1}, "dev": [{"en": "x", "de": "y"}]}, "dev has texts, so it cannot be held"),
    ],
)
def test_every_part_has_texts_or_is_held_out(values, message):
    with pytest.raises(ConfigError, match=message.replace("{", "[{]")):
        load(Files, {"origin": "files", "train": [{"en": "a", "de": "b"}], **values}, "own")


def test_a_corpus_without_it_has_the_config_that_it_had_before():
    texts = ({"en": "a", "de": "b"},)
    assert "hold_out" not in plain(Files(origin="files", train=texts, dev=texts, test=texts))

from pathlib import Path

import pytest

from transformer.corpora.grammar import Grammar
from transformer.corpora.kinds import Corpus, TaskCorpus
from transformer.corpora.self_training import ParsedText, SelfTraining
from transformer.corpora.texts import Files
from transformer.support.strict import ConfigError, load, read_config, read_yaml, write_config

ROOT = Path(__file__).parents[2]
TEXT = {"description": "text", "licence": "CC0-1.0"}
GRAMMAR = {
    "origin": "grammar",
    **TEXT,
    "sentences": {"train": 9, "dev": 3, "test": 3, "plain": 9},
    "words": [3, 9],
    "seed": 1,
}
SELF = {"origin": "self-training", **TEXT, "gold": "wsj", "parser": "parser", "copies": 2, "keep": 1}
PARSED = {"origin": "parsed-text", **TEXT, "gold": "wsj", "copies": 2, "trees": ["own.mrg"]}


def test_the_origin_decides_the_kind_of_corpus():
    own = {"origin": "files", **TEXT, "cleaning": {"words": [1, 60], "ratio": 2.5}}
    own |= {part: [{"en": f"{part}.en", "de": f"{part}.de"}] for part in ("train", "dev", "test")}
    kinds = [
        type(load(TaskCorpus, {"name": "x", "source": "a", "target": "b", "corpus": c}, "").corpus)
        for c in (GRAMMAR, SELF, own, PARSED)
    ]
    assert kinds == [Grammar, SelfTraining, Files, ParsedText]


@pytest.mark.parametrize("corpus", read_yaml(ROOT / "config" / "corpora.yaml")["corpora"].values())
def test_every_corpus_in_the_config_is_read_and_written_unchanged(tmp_path, corpus):
    loaded = load(TaskCorpus, {"name": "x", "source": "en", "target": "de", "corpus": corpus}, "")
    assert isinstance(loaded.corpus, Corpus)
    write_config(tmp_path / "config.yaml", loaded)
    assert read_config(TaskCorpus, tmp_path / "config.yaml") == loaded


@pytest.mark.parametrize(
    ("corpus", "said"),
    [
        (GRAMMAR | {"words": [9, 3]}, r"corpus.words: \[9, 3\] is not a range; write \[least, most\], from 1"),
        (GRAMMAR | {"sentences": {"train": 0, "dev": 1, "test": 1, "plain": 1}}, "corpus.sentences.train: 0"),
        (SELF | {"copies": 0}, "corpus.copies: 0 is not positive"),
        (
            GRAMMAR | {"origin": "wikipedia"},
            "corpus.origin: 'wikipedia' is not one of libreoffice-help, files, moses-lowercase, treebank, grammar",
        ),
    ],
)
def test_an_impossible_corpus_is_refused(corpus, said):
    with pytest.raises(ConfigError, match=said):
        load(TaskCorpus, {"name": "x", "source": "a", "target": "b", "corpus": corpus}, "")

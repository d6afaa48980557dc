import pytest

from tests.pages import ROOT
from transformer.corpora.kinds import TaskCorpus
from transformer.support.strict import ConfigError, load, read_config, read_yaml, write_config

TEXT = {"description": "text", "licence": "CC0-1.0"}
GRAMMAR = {
    "origin": "grammar",
    **TEXT,
    "sentences": {"train": 9, "dev": 3, "test": 3, "plain": 9},
    "words": [3, 9],
    "seed": 1,
}
FILES = {"origin": "files", **TEXT, "cleaning": {"words": [1, 60], "ratio": 2.5}}
FILES |= {part: [{"en": f"{part}.en", "de": f"{part}.de"}] for part in ("train", "dev", "test")}
HELP = {"origin": "libreoffice-help", **TEXT, "packages": {}, "cleaning": {}, "shares": {"dev": 0.4, "test": 0.6}}
TREEBANK = {"origin": "treebank", **TEXT, "trees": "wsj", "train": [1, 3], "dev": [3, 5], "test": [6, 6]}


@pytest.mark.parametrize("corpus", read_yaml(ROOT / "config" / "corpora.yaml")["corpora"].values())
def test_every_corpus_in_the_config_is_read_and_written_unchanged(tmp_path, corpus):
    loaded = load(TaskCorpus, {"name": "x", "source": "en", "target": "de", "corpus": corpus}, "")
    write_config(tmp_path / "config.yaml", loaded)
    assert read_config(TaskCorpus, tmp_path / "config.yaml") == loaded


@pytest.mark.parametrize(
    ("corpus", "said"),
    [
        (GRAMMAR | {"words": [9, 3]}, "words: [9, 3] is not a range; write [least, most], from 1 upwards"),
        (FILES | {"train": []}, "train: Tuple should have at least 1 item"),
        (FILES | {"cleaning": {"ratio": 0.5}}, "cleaning.ratio: Input should be greater than or equal to 1 (got 0.5)"),
        (HELP, "shares.test: 0.4 for dev and 0.6 for test leave nothing to train on; lower one"),
        (TREEBANK, "dev: train and dev both have file 3; give each part files of its own"),
        (GRAMMAR | {"origin": "gramar"}, " Input tag 'gramar' found using 'origin'"),
    ],
)
def test_an_impossible_corpus_is_refused(corpus, said):
    with pytest.raises(ConfigError) as error:
        load(TaskCorpus, {"name": "x", "source": "en", "target": "de", "corpus": corpus})
    assert str(error.value).removeprefix("corpus.").removeprefix("corpus:").startswith(said)


def test_both_sides_of_parallel_text_are_languages():
    texts = {name: [{"en": "x", "tree": "x"}] for name in ("train", "dev", "test")}
    values = {"name": "x", "source": "fr CA", "target": "germn", "corpus": {"origin": "files", **texts}}
    with pytest.raises(ConfigError) as caught:
        load(TaskCorpus, values)
    assert [str(fault).partition("?")[0] for fault in caught.value.faults] == [
        "source: 'fr CA' is not a language; did you mean fr",
        "target: 'germn' is not a language; did you mean de for German",
    ]
    load(TaskCorpus, values | {"source": "fr-CA", "target": "German"})

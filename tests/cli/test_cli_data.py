from commands import arguments

from transformer.support.strict import write_config


def test_a_vocabulary_the_text_cannot_fill_is_refused(house, tmp_path, refused):
    sides = {side: house.corpus / f"dev.{side}" for side in ("source", "target")}
    refused(arguments("subwords", **sides, output=tmp_path / "m", vocabulary=5000), "m: a vocabulary of 5000")
    assert not list(tmp_path.iterdir())


def test_a_corpus_that_lacks_its_gold_trees_says_which_option(tmp_path, refused):
    corpus = {
        "origin": "self-training",
        "description": "d",
        "licence": "l",
        "gold": "wsj",
        "parser": "parser",
        "copies": 2,
        "keep": 1,
    }
    values = {"name": "semi", "source": "words", "target": "trees", "corpus": corpus}
    write_config(tmp_path / "config.yaml", values)
    refused(arguments("corpus", config=tmp_path / "config.yaml", output_dir=tmp_path / "out"), "needs --gold")

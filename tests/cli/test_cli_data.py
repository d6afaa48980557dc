from commands import arguments

from transformer.cli.main import main
from transformer.support.files import write_lines
from transformer.support.strict import write_config


def test_a_corpus_without_its_gold_trees_names_the_missing_option(tmp_path, refused):
    corpus = {"origin": "self-training", "description": "d", "licence": "l"}
    corpus |= {"gold": "wsj", "parser": "parser", "copies": 2, "keep": 1}
    values = {"name": "semi", "source": "words", "target": "trees", "corpus": corpus}
    write_config(tmp_path / "config.yaml", values)
    refused(arguments("corpus", config=tmp_path / "config.yaml", output_dir=tmp_path / "out"), "needs --gold")


def test_lines_too_long_to_decode_are_refused_in_dev_and_test_but_not_in_train(house, tmp_path, refused):
    for part, wrong, message in (
        ("dev", "the " * 4096, "4097 subwords, but at most 4096 can be translated; split the line"),
        ("test", "a \0 b", "a NUL character, as in damaged files; repair the file"),
        ("test_2017", "\u200b", "'\\u200b' has no subword; correct or remove this line"),
    ):
        for side, other in (("source", "target"), ("target", "source")):
            write_lines(tmp_path / side, ["a cat", wrong])
            write_lines(tmp_path / other, ["a cat", "the"])
            sides = {name: tmp_path / name for name in (side, other)}
            line = arguments("encode", subwords=house.subwords, **sides, output=tmp_path / part)
            refused(line, f"{tmp_path / side}, line 2: {message}")
            assert main(arguments("encode", subwords=house.subwords, **sides, output=tmp_path / "train")) == 0
    left = sorted(path.name for path in tmp_path.iterdir())
    assert left == ["source", "target", "train.ids.npy", "train.offsets.npy"]


def test_longer_pairs_are_those_with_more_subwords_on_a_side(house, tmp_path, refused):
    write_lines(tmp_path / "en", ["the cat", "the " * 9, "the", "the " * 8])
    write_lines(tmp_path / "de", ["the cat", "a dog", "the " * 9, "the " * 8])
    texts = {"subwords": house.subwords, "source": tmp_path / "en", "target": tmp_path / "de"}
    assert main(arguments("longer", **texts, than=9, output=tmp_path / "longer")) == 0
    assert (tmp_path / "longer.source").read_text() == f"{'the ' * 9}\nthe\n"
    assert (tmp_path / "longer.target").read_text() == f"a dog\n{'the ' * 9}\n"
    assert main(arguments("longer", **texts, than=99, output=tmp_path / "none")) == 0
    assert (tmp_path / "none.source").read_bytes() == (tmp_path / "none.target").read_bytes() == b""
    (tmp_path / "half.target").mkdir()
    refused(arguments("longer", **texts, than=9, output=tmp_path / "half"), "half.target: is a folder; name a file")
    assert not (tmp_path / "half.source").exists()


def test_a_vocabulary_does_not_depend_on_the_number_of_threads(house, tmp_path):
    for threads in (1, 3):
        output = tmp_path / f"{threads}.model"
        line = arguments("subwords", **house.sides("train"), output=output, vocabulary=60, threads=threads)
        assert main(line) == 0
        assert output.read_bytes() == house.subwords.read_bytes()


def test_sentences_that_do_not_fit_into_the_parser_are_left_out_and_counted(house, tmp_path, capsys):
    write_lines(tmp_path / "text", ["the cat", "the " * 9, "a dog"])
    options = {"text": tmp_path / "text", "output": tmp_path / "drawn", "count": 2, "words": [1, 9]}
    assert main(arguments("sentences", **options, subwords=house.subwords, most=9)) == 0
    assert sorted((tmp_path / "drawn").read_text().splitlines()) == ["a dog", "the cat"]
    assert capsys.readouterr().err == f"{tmp_path}/text: 1 lines are left out (too many subwords)\n"
    assert main(arguments("sentences", **options | {"words": [9, 1]})) == 1
    assert capsys.readouterr().err == "error: --words: 9 is more than 1; give the least number of words first\n"

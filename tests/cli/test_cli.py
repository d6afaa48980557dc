import io
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from types import SimpleNamespace

import pytest

from transformer.cli.main import main
from transformer.decoding.translate import LINES
from transformer.support.files import read_lines, write_json, write_lines
from transformer.support.strict import plain, write_config
from transformer.trees.penn import read_tree
from transformer.trees.tree import words

CORPUS = {"corpus": "toy", "licence": "CC0", "description": "random words", "source": "en", "target": "de"}
CORPUS["pairs"] = {"train": 200, "dev": 8}


def arguments(command, *positional, **options):
    """A command line; options are given as keywords."""
    line = [command]
    for name, value in {**options, "threads": 1}.items():
        values = value if isinstance(value, list) else [value]
        line += [f"--{name.replace('_', '-')}", *map(str, values)]
    return [*line, "--", *positional] if positional else line


@pytest.fixture(scope="module")
def house(tmp_path_factory, text, run_config):
    """Every stage's files, made by the commands."""
    root = tmp_path_factory.mktemp("house")
    corpus = root / "corpora"
    for part, seed, count in (("train", 0, 200), ("dev", 1, 8)):
        lines = text(seed, count)
        write_lines(corpus / f"{part}.source", lines)
        write_lines(corpus / f"{part}.target", [" ".join(reversed(line.split())) for line in lines])
    write_json(corpus / "corpus.json", CORPUS)
    config = run_config(longest_pair=64, batch_tokens=400, micro_batch_tokens=400)
    write_config(root / "config.yaml", config)
    train = {"source": corpus / "train.source", "target": corpus / "train.target"}
    subwords = root / "ende.model"
    assert main(arguments("subwords", **train, output=subwords, vocabulary=60)) == 0
    for part in ("train", "dev"):
        sides = {side: corpus / f"{part}.{side}" for side in ("source", "target")}
        assert main(arguments("encode", subwords=subwords, **sides, output=root / "tokens" / part)) == 0
    options = {"config": root / "config.yaml", "subwords": subwords}
    assert main(arguments("train", **options, tokens=root / "tokens", output_dir=root / "run")) == 0
    checkpoints = [root / "run" / "checkpoints" / f"step-{step}.safetensors" for step in (12, 9)]
    options |= {
        "corpus": corpus / "corpus.json",
        "training": root / "run" / "training.json",
        "history": root / "run" / "history.csv",
        "checkpoints": checkpoints,
    }
    assert main(arguments("package", **options, output_dir=root / "package", beam=2, extra=5)) == 0
    return SimpleNamespace(
        root=root, corpus=corpus, subwords=subwords, package=root / "package", run=root / "run", packing=options
    )


@pytest.fixture
def refused(capsys):
    """Run a command that must end as one line "error: ..." that holds all of `parts`."""

    def check(line, *parts):
        capsys.readouterr()
        assert main(line) == 1
        captured = capsys.readouterr()
        message = captured.err.splitlines()[-1]
        assert message.startswith("error: ")
        assert sum(line.startswith("error: ") for line in captured.err.splitlines()) == 1
        assert "Traceback" not in captured.err
        assert not captured.out
        for part in parts:
            assert str(part) in message

    return check


@pytest.fixture
def standard_input(monkeypatch):
    return lambda content: monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(content)))


def test_a_package_says_what_it_was_made_of(house):
    config = json.loads((house.package / "config.json").read_text())
    assert config["averaged"] == [9, 12]
    assert config["decoding"] == {"beam": 2, "alpha": 0.6, "extra": 5}
    assert (config["source"], config["target"], config["corpus"]) == ("en", "de", CORPUS)


def test_a_readme_has_the_scores(house, tmp_path):
    scores = tmp_path / "dev.scores.json"
    sides = {"source": house.corpus / "dev.source", "target": house.corpus / "dev.target"}
    written = {"reference": sides["target"], "translations": sides["target"], "output": scores}
    assert main(arguments("score", package=house.package, part="dev", **sides, **written)) == 0
    assert main(arguments("readme", package=house.package, scores=scores)) == 0
    readme = (house.package / "README.md").read_text()
    assert "trained on toy (random words; CC0)" in readme
    assert "BLEU 100.0 (nrefs:1\\|" in readme


def test_translate_writes_a_line_for_a_line(house, capsysbinary, standard_input):
    source = (house.corpus / "dev.source").read_bytes()
    standard_input(source + b"\n" + source)
    assert main(arguments("translate", package=house.package, beam=2)) == 0
    lines = capsysbinary.readouterr().out.split(b"\n")
    assert lines[:8] == lines[9:17]
    assert lines[8] == b""
    assert len(lines) == 18


def test_nbest_numbers_the_lines_and_scores_their_hypotheses_best_first(house, capsysbinary, standard_input):
    standard_input(b"the cat .\n\na dog\n")
    assert main(arguments("translate", package=house.package, beam=1)) == 0
    best = capsysbinary.readouterr().out.decode().splitlines()
    standard_input(b"the cat .\n\na dog\n")
    assert main([*arguments("translate", package=house.package, beam=1), "--nbest"]) == 0
    rows = [line.split(" ||| ") for line in capsysbinary.readouterr().out.decode().splitlines()]
    assert [(number, text) for number, text, _ in rows] == list(zip("123", best, strict=True))
    standard_input(b"the cat .\n\na dog\n")
    assert main([*arguments("translate", package=house.package, beam=3), "--nbest"]) == 0
    rows = [line.split(" ||| ") for line in capsysbinary.readouterr().out.decode().splitlines()]
    assert [number for number, _, _ in rows] == sorted(number for number, _, _ in rows)
    assert [row for row in rows if row[0] == "2"] == [["2", "", "0.0000"]]
    for number in "13":
        scores = [float(score) for row, _, score in rows if row == number]
        assert scores == sorted(scores, reverse=True)
        assert scores


def test_log_p_is_written_for_each_line(house, tmp_path, standard_input):
    for options in ({"beam": 3}, {"sample": 1}):
        standard_input(b"the cat .\n\na dog\n")
        line = arguments("translate", package=house.package, log_probabilities=tmp_path / "logp", **options)
        assert main(line) == 0
        first, empty, last = map(float, read_lines(tmp_path / "logp"))
        assert empty == 0 > max(first, last)


def test_what_is_drawn_is_the_seeds(house, capsysbinary, standard_input):
    found = []
    for seed, tokens in ((0, 8192), (0, 1), (1, 8192)):
        standard_input((house.corpus / "dev.source").read_bytes())
        assert main(arguments("translate", package=house.package, sample=seed, batch_tokens=tokens)) == 0
        found.append(capsysbinary.readouterr().out)
    assert found[0] == found[1] != found[2]


def test_attention_is_shown_beside_the_same_translations(house, tmp_path, capsysbinary, standard_input):
    outputs = []
    for options in ({}, {"attention": tmp_path / "page.html"}):
        standard_input(b"the cat .\n\na dog\n")
        assert main(arguments("translate", package=house.package, **options)) == 0
        outputs.append(capsysbinary.readouterr().out)
    assert outputs[0] == outputs[1]
    page = (tmp_path / "page.html").read_text()
    assert page.count("<section>") == page.count("</section>") == 3
    assert page.endswith("</html>\n")


def test_perplexity_is_that_of_the_record(house, tmp_path, capsys):
    sides = {side: house.corpus / f"dev.{side}" for side in ("source", "target")}
    assert main(arguments("perplexity", package=house.package, **sides)) == 0
    printed = float(capsys.readouterr().out)
    options = {"package": house.package, "part": "dev", "output": tmp_path / "scores.json", **sides}
    line = arguments("score", **options, reference=sides["target"], translations=sides["target"])
    assert main(line) == 0
    assert printed == pytest.approx(json.loads((tmp_path / "scores.json").read_text())["perplexity"], abs=1e-4)


def test_describe_tells_what_a_package_was_made_of(house, capsys):
    assert main(arguments("describe", package=house.package)) == 0
    text = capsys.readouterr().out
    assert "ende (translation), en to de" in text
    assert "checkpoints of steps 9, 12" in text
    assert "12 steps" in text


def test_score_writes_the_record(house, tmp_path):
    output = tmp_path / "dev.scores.json"
    shutil.copy(house.corpus / "dev.target", tmp_path / "dev.translation")
    options = {"package": house.package, "source": house.corpus / "dev.source", "part": "dev", "output": output}
    options |= dict.fromkeys(("target", "reference"), house.corpus / "dev.target")
    line = arguments("score", **options, translations=tmp_path / "dev.translation")
    assert main(line) == 0
    record = json.loads(output.read_text())
    head = {
        "task": "ende",
        "model": "base",
        "seed": 1,
        "average": 2,
        "part": "dev",
        "sentences": 8,
        "beam": 2,
        "alpha": 0.6,
    }
    assert {key: record[key] for key in head} == head
    assert record["perplexity"] > 1
    assert record["sacrebleu"]["score"] == pytest.approx(100)
    assert record["paper_bleu"]["score"] == pytest.approx(100)


def test_compare_writes_both_tests(house, tmp_path, refused):
    target = house.corpus / "dev.target"
    options = {"baseline": target, "system": house.corpus / "dev.source", "reference": target}
    assert main(arguments("compare", **options, output=tmp_path / "comparison.json", resamples=50)) == 0
    record = json.loads((tmp_path / "comparison.json").read_text())
    assert record["baseline"] == pytest.approx(100)
    assert record["bootstrap"]["p"] == record["randomisation"]["p"] == pytest.approx(1 / 51)
    options["system"] = house.corpus / "train.source"
    refused(arguments("compare", **options, output=tmp_path / "no.json"), "train.source has 200 lines and", "has 8")


def change_json(path, **values):
    path.write_text(json.dumps({**json.loads(path.read_text()), **values}))


@pytest.fixture
def tree_parser(house, tmp_path):
    """The package, its kind made parsing."""
    package = shutil.copytree(house.package, tmp_path / "parser")
    change_json(package / "config.json", kind="parsing")
    return package


def test_parse_prints_and_draws_a_tree_for_a_line_over_its_words(tree_parser, tmp_path, capsysbinary, standard_input):
    long = ["na\u00efve", *["dog"] * 199]
    standard_input(b"the <old> cat .\n\n (  a dog )\r\n" + " ".join(long).encode())
    assert main(arguments("parse", package=tree_parser, svg=tmp_path / "trees.svg")) == 0
    lines = capsysbinary.readouterr().out.decode().split("\n")
    assert [line and words(read_tree(line)) for line in lines] == [
        ["the", "<old>", "cat", "."],
        "",
        ["-LRB-", "a", "dog", "-RRB-"],
        long,
        "",
    ]
    svg = (tmp_path / "trees.svg").read_text()
    assert [f">{number}</text>" in svg for number in (1, 2, 3)] == [True, False, True]
    assert ">&lt;old&gt;</text>" in svg


def test_parse_prints_the_tree_that_translate_writes(tree_parser, monkeypatch, capsysbinary, standard_input):
    monkeypatch.setattr("transformer.text.subwords.Subwords.decode", lambda *_: ["(S (NP NNP )NP (VP VBZ"])
    corpus = json.loads((tree_parser / "config.json").read_text())["corpus"]
    printed = []
    for command, form in (("translate", "words"), ("parse", "words"), ("parse", "tags")):
        change_json(tree_parser / "config.json", corpus={**corpus, "leaves": form})
        standard_input(b"John runs .\n")
        assert main(arguments(command, package=tree_parser)) == 0
        captured = capsysbinary.readouterr()
        printed.append(captured.out)
        note = b"1 of 1 outputs were no tree over their sentence and were repaired\n"
        assert (note in captured.err) == (command == "parse")
    assert printed == [
        b"(S (NP NNP )NP (VP VBZ\n",
        b"(S (NP (XX John)) (VP (XX runs)) (XX .))\n",
        b"(S (NP (NNP John)) (VP (VBZ runs)) (XX .))\n",
    ]


def test_only_a_parser_parses_and_what_fails_leaves_no_drawing(house, tree_parser, tmp_path, refused, standard_input):
    svg = tmp_path / "trees.svg"
    refused(arguments("parse", package=house.package, svg=svg), house.package, "kind is translation, not parsing")
    standard_input(b"a dog\n\xff\n")
    refused(arguments("parse", package=tree_parser, svg=svg), "standard input, line 2: byte 0xff")
    assert list(tmp_path.iterdir()) == [tree_parser]


def test_the_first_three_sentences_of_5_to_15_words_are_drawn_gold_beside_ours(tmp_path, refused):
    lengths = [4, 5, 16, 15, 8, 9]
    gold = [f"(S {'(NN word)' * (length - 1)} (NN last{number}))" for number, length in enumerate(lengths)]
    write_lines(tmp_path / "test.trees", gold)
    write_lines(tmp_path / "test.translation", ["(NP XX"] * 6)
    options = {"reference": tmp_path / "test.trees", "translations": tmp_path / "test.translation"}
    assert main(arguments("draw", **options, output=tmp_path / "trees.svg")) == 0
    svg = (tmp_path / "trees.svg").read_text()
    assert [svg.count(f">last{number}<") for number in range(6)] == [0, 2, 0, 2, 2, 0]
    assert svg.count(">S<") == svg.count(">NP<") == 3
    write_lines(tmp_path / "test.translation", ["(NP XX"] * 5)
    refused(arguments("draw", **options, output=tmp_path / "no.svg"), "test.trees has 6 trees for 5 translations")


def test_parses_are_scored_over_all_sentences_and_over_the_short_ones(house, tree_parser, tmp_path, refused):
    short, long = ("(S (NP (NN word)))", f"(S (NP {'(NN word)' * 41}))")
    (tmp_path / "dev.trees").write_text(f"{short}\n" * 7 + f"{long}\n")
    (tmp_path / "dev.translation").write_text("(S (NP XX )NP )S\n" * 7 + "(S XX\n")
    options = {"package": tree_parser, "part": "dev"}
    options |= {side: house.corpus / f"dev.{side}" for side in ("source", "target")}
    options |= {"reference": tmp_path / "dev.trees", "translations": tmp_path / "dev.translation"}
    assert main(arguments("score", **options, output=tmp_path / "dev.scores.json")) == 0
    scores = json.loads((tmp_path / "dev.scores.json").read_text())["brackets"]
    assert (scores["recall"], scores["precision"], scores["exact"]) == (93.75, 100, 87.5)
    assert (scores["valid"], scores["error"], scores["skip"], scores["repaired"]) == (8, 0, 0, 1)
    assert (scores["up_to_40_words"]["f1"], scores["up_to_40_words"]["valid"]) == (100, 7)
    (tmp_path / "dev.translation").write_text(f"{short}\n" * 7 + "\n")
    refused(arguments("score", **options, output=tmp_path / "no.json"), "dev.trees are in Penn brackets, as of `parse`")


def test_attention_writes_its_layer_and_sentences(house, tmp_path):
    assert main(arguments("attention", "the cat .", "a dog", package=house.package, output=tmp_path / "a.json")) == 0
    record = json.loads((tmp_path / "a.json").read_text())
    assert (record["layer"], record["layers"]) == (1, 1)
    assert [sentence["words"] for sentence in record["sentences"]] == [
        ["the", "cat", ".", "<EOS>"],
        ["a", "dog", "<EOS>"],
    ]


def test_every_command_has_help(capsys):
    commands = ["fetch", "corpus", "subwords", "encode", "train", "package", "translate", "score", "attention"]
    commands += ["perplexity", "describe", "parse", "draw"]
    for command in commands:
        with pytest.raises(SystemExit) as end:
            main([command, "--help"])
        assert end.value.code == 0
    assert capsys.readouterr().out.count("usage: python -m transformer") == len(commands)


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ([], "COMMAND"),
        (["fly"], "invalid choice: 'fly'"),
        (["translate"], "--package"),
        (["translate", "--package", "p", "--colour", "red"], "unrecognized arguments: --colour red"),
        (["translate", "--package", "p", "--beam", "0"], "--beam: invalid positive value: '0'"),
        (["translate", "--package", "p", "--beam", "many"], "--beam: invalid positive value: 'many'"),
        (["translate", "--package", "p", "--threads", "0"], "--threads: invalid positive value: '0'"),
        (["translate", "--package", "p", "--batch-tokens", "-5"], "--batch-tokens: invalid positive value: '-5'"),
        (["translate", "--package", "p", "--sample", "-1"], "--sample: invalid seed value: '-1'"),
        (["translate", "--package", "p", "--sample", "1", "--beam", "2"], "not allowed with argument --sample"),
        (["subwords", "--kind", "poetry"], "--kind: invalid choice: 'poetry'"),
    ],
)
def test_a_wrong_command_line_is_refused(refused, line, message):
    refused(line, message, "--help")


@pytest.mark.parametrize("missing", ["source", "target"])
def test_a_missing_text_is_named(house, tmp_path, refused, missing):
    sides = {side: house.corpus / f"dev.{side}" for side in ("source", "target")}
    sides[missing] = tmp_path / "nowhere"
    refused(
        arguments("subwords", **sides, output=tmp_path / "m", vocabulary=60), f"{tmp_path}/nowhere", "cannot be read"
    )
    refused(arguments("encode", subwords=house.subwords, **sides, output=tmp_path / "t"), f"{tmp_path}/nowhere")
    assert not list(tmp_path.iterdir())


def test_text_that_is_not_utf8_is_named_with_its_line(house, tmp_path, refused, standard_input):
    bad, good, out = tmp_path / "bad", tmp_path / "good", tmp_path / "out"
    bad.write_bytes("gut\nschön\n".encode() + "schön\n".encode("latin-1"))
    good.write_text("a\nb\nc\n")
    named = (f"{bad}, line 3: byte 0xf6 is not UTF-8",)
    refused(arguments("subwords", source=good, target=bad, output=out, vocabulary=60), *named)
    refused(arguments("encode", subwords=house.subwords, source=bad, target=good, output=out), *named)
    refused(arguments("perplexity", package=house.package, source=bad, target=good), *named)
    standard_input(bad.read_bytes())
    line = arguments("translate", package=house.package, attention=tmp_path / "page.html")
    refused(line, "standard input, line 3: byte 0xf6 is not UTF-8")
    assert sorted(tmp_path.iterdir()) == [bad, good]


def test_lines_that_cannot_be_translated_are_named(house, tmp_path, refused, standard_input):
    for bad, message in ((b"a\0b", "line 2: a NUL"), (b"the cat " * 5000, "subwords, but at most 4096")):
        standard_input(b"the cat .\n" + bad + b"\n")
        line = arguments("translate", package=house.package, attention=tmp_path / "page.html")
        refused(line, message, "line 2: ")
    texts = {side: tmp_path / side for side in ("source", "target")}
    texts["source"].write_text("the cat .\na dog\n")
    texts["target"].write_text("the cat .\n" + "the cat " * 5000)
    refused(arguments("perplexity", package=house.package, **texts), *texts.values(), "line 2: ", "split the line")
    assert sorted(tmp_path.iterdir()) == sorted(texts.values())


def test_files_of_different_length_are_refused_with_both_counts(house, tmp_path, refused):
    one, two = house.corpus / "dev.source", house.corpus / "train.target"
    counts = (f"{one} has 8 lines", f"{two} has 200")
    refused(arguments("subwords", source=one, target=two, output=tmp_path / "m", vocabulary=60), *counts)
    refused(arguments("encode", subwords=house.subwords, source=one, target=two, output=tmp_path / "t"), *counts)
    refused(arguments("perplexity", package=house.package, source=one, target=two), *counts)
    assert not list(tmp_path.iterdir())


def test_an_empty_corpus_is_refused(house, tmp_path, refused):
    empty = tmp_path / "empty"
    empty.touch()
    refused(arguments("subwords", source=empty, target=empty, output=tmp_path / "m", vocabulary=60), empty, "empty")
    refused(arguments("encode", subwords=house.subwords, source=empty, target=empty, output=tmp_path / "t"), empty)
    assert list(tmp_path.iterdir()) == [empty]


def test_a_vocabulary_the_text_cannot_fill_is_refused(house, tmp_path, refused):
    sides = {side: house.corpus / f"dev.{side}" for side in ("source", "target")}
    refused(arguments("subwords", **sides, output=tmp_path / "m", vocabulary=5000), "m: a vocabulary of 5000")
    assert not list(tmp_path.iterdir())


def training(house, folder, **changes):
    options = {"config": house.root / "config.yaml", "subwords": house.subwords, "tokens": house.root / "tokens"}
    return arguments("train", **{**options, "output_dir": folder / "run", **changes})


def test_all_wrong_keys_of_a_config_are_listed(house, tmp_path, run_config, capsys):
    values = plain(run_config())
    values["colour"] = "red"
    del values["architecture"]["d_ff"]
    values["architecture"]["N"] = "two"
    values["training"]["warmpu"] = 3
    write_config(tmp_path / "config.yaml", values)
    assert main(training(house, tmp_path, config=tmp_path / "config.yaml")) == 1
    message = capsys.readouterr().err
    assert message.startswith(f"error: {tmp_path}/config.yaml")
    for key in ("colour", "architecture.d_ff: missing", "architecture.N: 'two'", "training.warmpu"):
        assert key in message
    assert "Traceback" not in message
    assert not (tmp_path / "run").exists()


def test_a_config_that_is_no_yaml_or_not_there_is_refused(house, tmp_path, refused):
    (tmp_path / "config.yaml").write_text("a: [1,\nb: }")
    refused(training(house, tmp_path, config=tmp_path / "config.yaml"), f"{tmp_path}/config.yaml: not YAML", "line 2")
    refused(training(house, tmp_path, config=tmp_path / "none.yaml"), f"{tmp_path}/none.yaml: cannot be read")


def test_what_training_reads_must_be_there_and_fit_together(house, tmp_path, refused):
    refused(training(house, tmp_path, tokens=tmp_path), f"{tmp_path}/train: its ids cannot be read")
    refused(training(house, tmp_path, subwords=house.corpus / "dev.source"), "dev.source: not a SentencePiece model")
    sides = {side: house.corpus / f"train.{side}" for side in ("source", "target")}
    small = tmp_path / "small.model"
    assert main(arguments("subwords", **sides, output=small, vocabulary=45)) == 0
    refused(training(house, tmp_path, subwords=small), "tokens/train: has id 5", "the vocabulary has 45 subwords")
    assert not (tmp_path / "run").exists()


def test_sentences_that_are_all_too_long_are_refused(house, tmp_path, run_config, refused):
    write_config(tmp_path / "config.yaml", run_config(longest_pair=2))
    refused(training(house, tmp_path, config=tmp_path / "config.yaml"), "no pair has at most 2 subwords")


def test_an_absurd_learning_rate_names_its_step(house, tmp_path, run_config, refused):
    write_config(tmp_path / "config.yaml", run_config(longest_pair=64, learning_rate=1e30))
    refused(training(house, tmp_path, config=tmp_path / "config.yaml"), "is not finite at step", "lower learning_rate")
    assert not (tmp_path / "run" / "checkpoints").exists()


def test_a_folder_that_cannot_be_written_is_refused(house, tmp_path, refused):
    (tmp_path / "run").write_text("a file")
    refused(training(house, tmp_path), f"{tmp_path}/run/state", "cannot be written")


def packing(house, folder, **changes):
    return arguments("package", **{**house.packing, "output_dir": folder / "package", **changes})


def test_a_checkpoint_of_another_config_is_not_packed(house, tmp_path, run_config, refused):
    config = tmp_path / "config.yaml"
    write_config(config, run_config(longest_pair=64, batch_tokens=400, micro_batch_tokens=400, P_drop=0.2))
    checkpoint = house.packing["checkpoints"][0]
    refused(packing(house, tmp_path, config=config), f"{checkpoint}: a checkpoint of another config than {config}")
    assert not (tmp_path / "package").exists()


def test_a_truncated_a_missing_and_a_foreign_checkpoint_are_named(house, tmp_path, refused):
    whole = house.packing["checkpoints"][0]
    cut, changed, foreign = tmp_path / "cut.safetensors", tmp_path / "changed.safetensors", tmp_path / "foreign"
    content = bytearray(whole.read_bytes())
    cut.write_bytes(content[:-10])
    content[-1] ^= 1
    changed.write_bytes(content)
    foreign.write_text("no checkpoint")
    for path, message in (
        (cut, "damaged"),
        (changed, "SHA-256"),
        (foreign, "damaged"),
        (tmp_path / "no", "no such file"),
    ):
        refused(packing(house, tmp_path, checkpoints=[whole, path]), path, message)
    assert not (tmp_path / "package").exists()


def test_a_beam_that_does_not_fit_into_memory_is_refused(house, standard_input, refused):
    for beam in (10**12, 10**18):
        standard_input(b"one\n")
        refused(arguments("translate", package=house.package, beam=beam), f"8192 now, or the beam, {beam} now")


def test_records_that_are_none_are_refused(house, tmp_path, refused):
    record = tmp_path / "record.json"
    for content, message in (("{", "not JSON"), ("[]", "not a JSON object"), ("{}", "has the key")):
        record.write_text(content)
        refused(packing(house, tmp_path, training=record), message)
        refused(packing(house, tmp_path, corpus=record), message)
    assert not (tmp_path / "package").exists()


def test_decoding_that_is_impossible_is_not_packed(house, tmp_path, capsys):
    assert main(packing(house, tmp_path, beam=0, extra=-1)) == 1
    message = capsys.readouterr().err
    assert message.startswith("error: --beam, --alpha, --extra")
    assert "beam: 0 is not positive" in message
    assert "extra: -1 is not positive" in message
    assert not (tmp_path / "package").exists()


def test_what_is_no_package_does_not_translate(house, tmp_path, refused):
    refused(arguments("translate", package=tmp_path / "none"), f"{tmp_path}/none: no package")
    refused(arguments("describe", package=tmp_path / "none"), f"{tmp_path}/none: no package")
    broken = shutil.copytree(house.package, tmp_path / "broken")
    with (broken / "model.safetensors").open("r+b") as stream:
        stream.truncate(1000)
    refused(arguments("translate", package=broken), f"{broken}/model.safetensors: SHA-256")
    refused(arguments("describe", package=broken), f"{broken}/model.safetensors: SHA-256")


@pytest.mark.parametrize("wrong", ["translations", "reference"])
def test_scores_need_as_many_lines_everywhere(house, tmp_path, refused, wrong):
    options = dict.fromkeys(("translations", "reference", "target"), house.corpus / "dev.target")
    options[wrong] = house.corpus / "train.target"
    options |= {"package": house.package, "source": house.corpus / "dev.source", "part": "dev"}
    refused(arguments("score", **options, output=tmp_path / "s.json"), house.corpus / "train.target", "200", "8")
    assert not list(tmp_path.iterdir())


def test_a_layer_that_is_not_there_is_refused(house, tmp_path, refused):
    for layer in (0, 2):
        line = arguments("attention", "the cat", package=house.package, output=tmp_path / "a.json", layer=layer)
        refused(line, f"layer {layer}")
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


def in_a_process(line, **options):
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "PYTHONPATH": str(Path(__file__).parents[2])}
    options["preexec_fn"] = lambda: signal.signal(signal.SIGINT, signal.SIG_DFL)  # ignored in the background
    return subprocess.Popen([sys.executable, "-m", "transformer", *line], env=environment, text=True, **options)


def test_sigterm_ends_training_with_143_and_it_goes_on_to_the_same_weights(house, tmp_path, run_config, monkeypatch):
    config = tmp_path / "config.yaml"
    write_config(config, run_config(longest_pair=64, batch_tokens=400, micro_batch_tokens=400, steps=100))
    line = training(house, tmp_path, config=config)
    history = tmp_path / "run" / "state" / "history.csv"
    with in_a_process(line, stderr=subprocess.PIPE) as process:
        while process.poll() is None and not history.exists():
            time.sleep(0.005)
        process.send_signal(signal.SIGTERM)
        _, errors = process.communicate(timeout=10)
    assert process.returncode == 128 + signal.SIGTERM
    assert errors.splitlines()[-1] == "interrupted by SIGTERM; the state is saved, start again to go on"
    assert not (tmp_path / "run" / "training.json").exists()
    monkeypatch.setattr(os, "fsync", lambda _: None)
    assert main(line) == 0
    assert main(training(house, tmp_path, config=config, output_dir=tmp_path / "whole")) == 0
    for step in (94, 97, 100):
        name = Path("checkpoints") / f"step-{step}.safetensors"
        assert (tmp_path / "run" / name).read_bytes() == (tmp_path / "whole" / name).read_bytes()
    rows = [[line.split(",") for line in read_lines(tmp_path / run / "history.csv")] for run in ("run", "whole")]
    speed = rows[0][0].index("tokens_per_second")
    assert [row[:speed] + row[speed + 1 :] for row in rows[0]] == [row[:speed] + row[speed + 1 :] for row in rows[1]]


def test_a_closed_pipe_ends_translation_quietly(house, tmp_path):
    with in_a_process(
        arguments("translate", package=house.package, beam=1, attention=tmp_path / "page.html"),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as process:
        process.stdout.close()
        process.stdin.write("the cat .\n" * 3)
        process.stdin.close()
        errors = process.stderr.read()
    assert process.returncode == 1
    assert errors == ""
    assert not list(tmp_path.iterdir())


def test_an_interrupt_ends_translation_quietly_after_the_finished_lines(house, tmp_path):
    with in_a_process(
        [*arguments("translate", package=house.package, beam=1, attention=tmp_path / "page.html"), "--nbest"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as process:
        process.stdin.write("the cat .\n" + "\n" * (LINES - 1) + "a dog\n")
        process.stdin.flush()
        finished = [process.stdout.readline() for _ in range(LINES)]
        process.send_signal(signal.SIGINT)
        rest, errors = process.communicate(timeout=30)
    assert process.returncode == 128 + signal.SIGINT
    assert [line.split(" ||| ")[0] for line in finished] == [str(number) for number in range(1, LINES + 1)]
    assert (rest, errors) == ("", "")
    assert not list(tmp_path.iterdir())


def test_a_full_disk_ends_translation_with_an_error(house):
    with (
        Path("/dev/full").open("w") as full,
        in_a_process(
            arguments("translate", package=house.package, beam=1),
            stdin=subprocess.PIPE,
            stdout=full,
            stderr=subprocess.PIPE,
        ) as process,
    ):
        _, errors = process.communicate("the cat .\n")
    assert process.returncode == 1
    assert "error: [Errno 28] No space left on device" in errors
    assert "Traceback" not in errors

import base64
import json
import re
import shutil
from contextlib import contextmanager
from dataclasses import asdict

import pytest
from commands import arguments

from transformer.cli.main import main
from transformer.decoding.beam import Hypothesis
from transformer.decoding.record import read_record
from transformer.package.config import read_package_config
from transformer.support.files import read_lines, write_lines
from transformer.trees.penn import read_tree
from transformer.trees.tree import words


def test_translate_writes_one_line_for_each_line(house, capsysbinary, standard_input):
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


@pytest.mark.parametrize(
    "options",
    [{}, {"beam": 3, "batch_tokens": 99, "precision": "bfloat16", "alpha": 0.0, "early_stop": True}, {"sample": 5}],
)
def test_a_record_says_how_the_lines_were_translated(house, tmp_path, capsysbinary, standard_input, options):
    standard_input(b"the cat .\n\na dog\n")
    line = arguments("translate", package=house.package, record=tmp_path / "record.json", **options)
    assert main(line) == 0
    (tmp_path / "translations").write_bytes(capsysbinary.readouterr().out)
    package = read_package_config(house.package)
    record = asdict(read_record(tmp_path / "record.json", tmp_path / "translations", package))
    beam = 1 if "sample" in options else 2
    made = {"beam": beam, "alpha": 0.6, "extra": 5, "sample": None, "precision": "float32", "batch_tokens": 8192}
    made |= {"early_stop": False}
    assert {key: record[key] for key in made} == made | options
    assert record["lines"] == 3


def test_options_of_a_beam_are_refused_beside_a_seed_of_samples(tmp_path, refused):
    for option in ({"alpha": 1}, {"early_stop": True}):
        refused(arguments("translate", package=tmp_path, sample=3, **option), "applies to beam search, but --sample")


def test_another_engine_keeps_the_order_of_lines_and_is_recorded(
    house, tmp_path, capsysbinary, standard_input, monkeypatch
):
    @contextmanager
    def repeats(*_):
        yield lambda batches: ([[Hypothesis(ids[:-1], -1.0)] for _, ids in batch] for batch in batches)

    monkeypatch.setattr("transformer.export.ctranslate2.by_ctranslate2", repeats)
    standard_input(b"the cat .\n\na dog\n")
    line = arguments("translate", package=house.package, record=tmp_path / "r", engine="ctranslate2", batch_tokens=1)
    assert main(line) == 0
    assert capsysbinary.readouterr().out == b"the cat .\n\na dog\n"
    assert json.loads((tmp_path / "r").read_text())["engine"] == "ctranslate2"


def test_lines_without_a_subword_are_told(house, tree_parser, capsys, standard_input):
    for command, package in (("translate", house.package), ("parse", tree_parser)):
        standard_input("dog\n\u200b\n\n\ufeff \u2581\n".encode())
        assert main(arguments(command, package=package)) == 0
        shown = capsys.readouterr()
        assert shown.out.count("\n") == 4
        told = "warning: standard input, line 2 and 1 more: the line has no subword, so the model reads nothing"
        assert told in shown.err.splitlines()
    standard_input(b"dog\n\n \n")
    assert main(arguments("translate", package=house.package)) == 0
    assert "no subword" not in capsys.readouterr().err


@pytest.mark.parametrize("beam", [4, 1])
def test_empty_translations_of_a_beam_are_told_with_a_remedy(house, capsys, standard_input, monkeypatch, beam):
    @contextmanager
    def nothing(*_):
        yield lambda batches: ([[Hypothesis(ids[:-1] if line == 1 else [], -1.0)] for line, ids in b] for b in batches)

    monkeypatch.setattr("transformer.decoding.search.decoding", nothing)
    standard_input(b"dog\n\nthe cat\n")
    assert main(arguments("translate", package=house.package, beam=beam)) == 0
    shown = capsys.readouterr()
    assert shown.out == "dog\n\n\n"
    told = "the beam ranks an empty translation first for 1 of 3 lines; try a larger --alpha (now 0.6) or --beam 1\n"
    assert (told in shown.err) == (beam > 1)
    assert ("empty" in shown.err) == (beam > 1)


def test_attention_writes_the_weights_between_words(house, tmp_path):
    line = arguments("attention", "the cat .", "a dog", package=house.package, output=tmp_path / "a.json")
    assert main(line) == 0
    record = json.loads((tmp_path / "a.json").read_text())
    assert (record["layer"], record["layers"]) == (1, 1)
    assert [each["words"] for each in record["sentences"]] == [["the", "cat", ".", "<EOS>"], ["a", "dog", "<EOS>"]]


@pytest.mark.parametrize("command", ["attention", "explore"])
def test_a_sentence_that_no_model_can_read_is_refused(house, tmp_path, refused, command):
    given = {"package": house.package, "output": tmp_path / "output"}
    for sentence in (" ", "\u200b"):
        refused(arguments(command, "a", sentence, **given), "sentence 2 has no words; write some")
    refused(arguments(command, "a", "a\udcff", **given), "sentence 2, 'a\\udcff': not UTF-8")
    assert not list(tmp_path.iterdir())


def test_explore_writes_one_page_of_several_packages_and_refuses_another_network_or_table(
    house, tmp_path, refused, change_package
):
    other, page = shutil.copytree(house.package, tmp_path / "other"), tmp_path / "page.html"
    packages = [house.package, other]
    line = arguments("explore", "the </script> cat", package=house.package, output=page)
    assert main([line[0], "--package", str(other), *line[1:]]) == 0
    [text] = re.findall(r'<script type="application/json" class="packages">(.*)</script>', page.read_text())
    weights = [base64.b64decode(each["weights"]) for each in json.loads(text)]
    assert weights == [(package / "model.safetensors").read_bytes() for package in packages]
    [text] = re.findall(r'<script type="application/json" class="examples">(.*)</script>', page.read_text())
    assert json.loads(text) == ["the </script> cat"]
    page.unlink()
    config = json.loads((other / "config.json").read_text())
    change_package(other, architecture={**config["architecture"], "network": "recurrent", "N": 2})
    line = arguments("explore", package=other, output=page)
    refused(line, f"{other}: base has a recurrent network; name a Transformer")
    (tmp_path / "claims.csv").write_text("Claim,Verdict\nOne head is worse,reproduced\n")
    line = arguments("explore", package=house.package, output=page, claims=tmp_path / "claims.csv")
    refused(line, f"{tmp_path / 'claims.csv'}:2: has no Measure; name a claims.csv")
    assert not page.exists()


def test_parse_prints_and_draws_a_tree_over_the_words_of_each_line(tree_parser, tmp_path, capsysbinary, standard_input):
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


def test_parse_prints_the_tree_that_translate_writes(
    tree_parser, change_package, monkeypatch, capsysbinary, standard_input
):
    monkeypatch.setattr("transformer.text.subwords.Subwords.decode", lambda *_: ["(S (NP NNP )NP (VP VBZ"])
    corpus = json.loads((tree_parser / "config.json").read_text())["corpus"]
    printed = []
    for command, form in (("translate", "words"), ("parse", "words"), ("parse", "tags")):
        change_package(tree_parser, corpus={**corpus, "leaves": form})
        standard_input(b"John runs .\n")
        assert main(arguments(command, package=tree_parser)) == 0
        captured = capsysbinary.readouterr()
        printed.append(captured.out)
        note = b"1 of 1 outputs were not trees over their sentence and were repaired\n"
        assert (note in captured.err) == (command == "parse")
        assert (b"; for trees run parse\n" in captured.err) == (command == "translate")
    assert printed == [
        b"(S (NP NNP )NP (VP VBZ\n",
        b"(S (NP (XX John)) (VP (XX runs)) (XX .))\n",
        b"(S (NP (NNP John)) (VP (VBZ runs)) (XX .))\n",
    ]


def test_only_a_parser_parses_and_a_failure_leaves_no_drawing(house, tree_parser, tmp_path, refused, standard_input):
    svg = tmp_path / "trees.svg"
    refused(
        arguments("parse", package=house.package, svg=svg),
        house.package,
        "is for translation, not for parsing; name a parser",
    )
    standard_input(b"a dog\n\xff\n")
    refused(arguments("parse", package=tree_parser, svg=svg), "standard input, line 2: byte 0xff")
    assert list(tmp_path.iterdir()) == [tree_parser]


def test_the_first_three_sentences_of_5_to_15_words_are_drawn_beside_gold(tmp_path, refused):
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
    refused(arguments("draw", **options, output=tmp_path / "no.svg"), "6 trees, but there are 5 translations")
    write_lines(tmp_path / "test.trees", gold[:1])
    write_lines(tmp_path / "test.translation", ["(NP XX"])
    assert main(arguments("draw", **options, output=tmp_path / "none.svg")) == 0
    assert ">no sentence has 5 to 15 words<" in (tmp_path / "none.svg").read_text()


def test_a_beam_that_does_not_fit_into_memory_is_refused(house, standard_input, refused):
    for beam in (10**12, 10**18):
        standard_input(b"one\n")
        refused(
            arguments("translate", package=house.package, beam=beam),
            f"reduce --batch-tokens (now 8192) or the beam (now {beam})",
        )

import csv
import json
import shutil
import subprocess
from pathlib import Path

import pytest
from commands import arguments, in_a_process

from transformer.cli.main import main
from transformer.support.files import sha256, write_json


def test_score_writes_the_scores(house, tmp_path, recorded):
    output, translations = tmp_path / "dev.scores.json", tmp_path / "dev.translation"
    shutil.copy(house.corpus / "dev.target", translations)
    options = {"package": house.package, "reference": house.corpus / "dev.target", "part": "dev", "output": output}
    line = arguments("score", **options, translations=translations, record=recorded(house.package, translations))
    assert main(line) == 0
    record = json.loads(output.read_text())
    head = {
        "task": "ende",
        "model": "base",
        "seed": 1,
        "average": 2,
        "part": "dev",
        "sentences": 8,
    }
    assert {key: record[key] for key in head} == head
    assert record["perplexity"] == 5.5
    assert record["sacrebleu"]["score"] == pytest.approx(100)
    assert record["paper_bleu"]["score"] == pytest.approx(100)


def test_scores_record_how_the_lines_were_translated_not_the_package_s_defaults(
    house, tmp_path, capsysbinary, standard_input
):
    standard_input((house.corpus / "dev.source").read_bytes())
    record, translations = tmp_path / "record.json", tmp_path / "dev.translation"
    target = house.corpus / "dev.target"
    how = {"beam": 3, "precision": "bfloat16", "record": record, "target": target}
    assert main(arguments("translate", package=house.package, **how)) == 0
    translations.write_bytes(capsysbinary.readouterr().out)
    options = {"reference": target, "translations": translations, "record": record, "part": "dev"}
    assert main(arguments("score", package=house.package, **options, output=tmp_path / "scores.json")) == 0
    scores = json.loads((tmp_path / "scores.json").read_text())
    assert scores["decoding"] | {"perplexity": scores["perplexity"]} == json.loads(record.read_text())
    assert (scores["decoding"]["beam"], scores["decoding"]["precision"]) == (3, "bfloat16")


def test_a_record_of_other_translations_or_another_package_is_refused(house, tmp_path, standard_input, refused):
    standard_input((house.corpus / "dev.source").read_bytes())
    record, target = tmp_path / "record.json", house.corpus / "dev.target"
    options = {"part": "dev", "output": tmp_path / "scores.json", "reference": target, "translations": target}
    line = arguments("score", package=house.package, **options, record=record)
    assert main(arguments("translate", package=house.package, record=record, target=target)) == 0
    refused(line, f"{record}: belongs to translations with SHA-256", f"but {target} has")
    values = json.loads(record.read_text()) | {"translations": sha256(target)}
    write_json(record, values)
    assert main(line) == 0
    write_json(record, values | {"perplexity": None})
    refused(line, f"{record}: has no perplexity; translate again, with --target")
    write_json(record, values | {"weights": "c0ffee"})
    refused(line, f"{record}: belongs to a package whose weights have SHA-256 c0ffee, not ", "give that package")


def test_parses_are_scored_over_all_sentences_and_over_the_short_ones(tree_parser, tmp_path, refused, recorded):
    short, long = ("(S (NP (NN word)))", f"(S (NP {'(NN word)' * 41}))")
    (tmp_path / "dev.trees").write_text(f"{short}\n" * 7 + f"{long}\n")
    (tmp_path / "dev.translation").write_text("(S (NP XX )NP )S\n" * 7 + "(S XX\n")
    options = {"package": tree_parser, "part": "dev"}
    options |= {"reference": tmp_path / "dev.trees", "translations": tmp_path / "dev.translation"}
    options |= {"record": recorded(tree_parser, tmp_path / "dev.translation")}
    assert main(arguments("score", **options, output=tmp_path / "dev.scores.json")) == 0
    scores = json.loads((tmp_path / "dev.scores.json").read_text())["brackets"]
    assert (scores["recall"], scores["precision"], scores["exact"]) == (93.75, 100, 87.5)
    assert (scores["valid"], scores["error"], scores["skip"], scores["repaired"]) == (8, 0, 0, 1)
    assert (scores["up_to_40_words"]["f1"], scores["up_to_40_words"]["valid"]) == (100, 7)
    (tmp_path / "dev.translation").write_text(f"{short}\n" * 7 + "\n")
    recorded(tree_parser, tmp_path / "dev.translation")
    refused(arguments("score", **options, output=tmp_path / "no.json"), "dev.trees are in Penn brackets, which `parse`")


def test_a_part_other_than_dev_and_test_is_refused(house, tmp_path, refused):
    files = dict.fromkeys(("reference", "translations", "record"), house.corpus / "dev.target")
    line = arguments("score", package=house.package, **files, output=tmp_path / "s.json", part="foo")
    refused(line, "argument --part: invalid choice: 'foo' (choose from")


@pytest.mark.parametrize("wrong", ["translations", "reference"])
def test_scores_need_files_with_equal_numbers_of_lines(house, tmp_path, refused, recorded, wrong):
    options = dict.fromkeys(("translations", "reference"), house.corpus / "dev.target")
    options[wrong] = house.corpus / "train.target"
    options |= {"package": house.package, "record": recorded(house.package, options["translations"]), "part": "dev"}
    refused(arguments("score", **options, output=tmp_path / "s.json"), house.corpus / "train.target", "200", "8")
    assert list(tmp_path.iterdir()) == [options["record"]]


def test_compare_writes_both_tests(house, tmp_path, refused):
    target = house.corpus / "dev.target"
    options = {"baseline": target, "system": house.corpus / "dev.source", "reference": target}
    assert main(arguments("compare", **options, output=tmp_path / "comparison.json", resamples=50)) == 0
    record = json.loads((tmp_path / "comparison.json").read_text())
    assert record["baseline"] == pytest.approx(100)
    assert record["bootstrap"]["p"] == record["randomisation"]["p"] == pytest.approx(1 / 51)
    options["system"] = house.corpus / "train.source"
    refused(arguments("compare", **options, output=tmp_path / "no.json"), "train.source has 200 lines and", "has 8")


def test_the_command_perplexity_prints_the_perplexity_of_a_record(house, tmp_path, capsys, standard_input):
    sides = {side: house.corpus / f"dev.{side}" for side in ("source", "target")}
    assert main(arguments("perplexity", package=house.package, **sides)) == 0
    printed = float(capsys.readouterr().out)
    standard_input(sides["source"].read_bytes())
    record = tmp_path / "record.json"
    assert main(arguments("translate", package=house.package, record=record, target=sides["target"])) == 0
    assert printed == pytest.approx(json.loads(record.read_text())["perplexity"], abs=1e-4)


def test_a_target_that_does_not_fit_is_refused(house, tmp_path, standard_input, refused, capsys):
    standard_input((house.corpus / "dev.source").read_bytes())
    target, record = house.corpus / "train.target", tmp_path / "record.json"
    line = arguments("translate", package=house.package, target=target)
    refused(line, "--target is for --record; give both")
    assert main([*line, "--record", str(record)]) == 1
    assert f"error: {target} has 200 lines, but fewer are translated; give a line for each" in capsys.readouterr().err
    assert not record.exists()
    short = tmp_path / "short.target"
    short.write_text("a\n" * 7)
    standard_input((house.corpus / "dev.source").read_bytes())
    assert main(arguments("translate", package=house.package, target=short, record=record)) == 1
    assert f"error: {short} has 7 lines, but more are translated; give a line for each" in capsys.readouterr().err
    short.write_text("")
    refused(arguments("translate", package=house.package, target=short, record=record), f"{short}: is empty")
    long = tmp_path / "long.target"
    long.write_text("a\n" + "a b " * 5000 + "\n")
    line = arguments("translate", package=house.package, target=long, record=record)
    refused(line, f"{long}, line 2: 20001 subwords, but at most 4096 can be translated; split the line")


def test_perplexity_by_length_is_a_csv_that_holds_every_pair(house, capsys):
    sides = {side: house.corpus / f"dev.{side}" for side in ("source", "target")}
    assert main([*arguments("perplexity", package=house.package, **sides), "--by-length", "4", "8"]) == 0
    rows = list(csv.DictReader(capsys.readouterr().out.splitlines()))
    assert [row["shortest"] for row in rows] == sorted({row["shortest"] for row in rows} & {"1", "5", "9"})
    assert sum(int(row["pairs"]) for row in rows) == len(sides["source"].read_text().splitlines())
    assert all(float(row["perplexity"]) > 1 for row in rows)


def test_perplexity_by_length_translates_and_scores_some_pairs(house, tmp_path, capsys, refused):
    sides = {side: house.corpus / f"dev.{side}" for side in ("source", "target")}
    line = arguments("perplexity", package=house.package, **sides)
    assert main([*line, "--by-length", "9", "--translate", "3"]) == 0
    rows = list(csv.DictReader(capsys.readouterr().out.splitlines()))
    assert [int(row["translations"]) for row in rows] == [min(3, int(row["pairs"])) for row in rows]
    assert all(int(row["ngrams_1"]) == int(row["words"]) and float(row["sacrebleu"]) >= 0 for row in rows)
    refused([*line, "--translate", "3"], "--translate needs --by-length; give both")
    damaged = sides["source"].read_bytes().splitlines()
    (tmp_path / "damaged").write_bytes(b"\n".join([*damaged[:-1], b"\0"]))
    line = arguments("perplexity", package=house.package, **sides | {"source": tmp_path / "damaged"})
    refused([*line, "--by-length", "9", "--translate", "1"], f"damaged, line {len(damaged)}: a NUL character")


def test_describe_prints_the_origin_of_a_package(house, capsys):
    assert main(arguments("describe", package=house.package)) == 0
    text = capsys.readouterr().out
    assert "ende (translation), en to de" in text
    assert "checkpoints of steps 9, 12" in text
    assert "12 steps" in text


@pytest.mark.parametrize("command", ["score", "compare", "complexity"])
def test_an_output_that_cannot_be_written_is_refused_before_the_work(house, tmp_path, refused, monkeypatch, command):
    def untimely(*_):
        raise AssertionError(f"{command} worked before it looked at --output")

    target = house.corpus / "dev.target"
    options = {
        "score": {"package": house.package, "part": "dev"}
        | {"reference": target, "translations": target, "record": target},
        "compare": {"baseline": target, "system": target, "reference": target},
        "complexity": {"config": tmp_path / "sizes.yaml"},
    }
    (tmp_path / "sizes.yaml").write_text("{n: [4, 8, 16], d: [8, 16, 32], k: 3, r: 2, d_k: 8}\n")
    for work in ("score.score", "significance.compare", "complexity.complexity"):
        monkeypatch.setattr(f"transformer.evaluation.{work}", untimely)
    refused(arguments(command, **options[command], output=tmp_path), f"{tmp_path}: is a folder; name a file")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
def test_a_full_disk_behind_standard_output_is_told(house):
    line = arguments("describe", package=house.package)
    with Path("/dev/full").open("w") as full, in_a_process(line, stdout=full, stderr=subprocess.PIPE) as process:
        _, errors = process.communicate()
    assert errors == "error: standard output: cannot be written (No space left on device); free space\n"
    assert process.returncode == 1


def test_an_impossible_seed_of_sacrebleu_is_named(house, tmp_path, refused, monkeypatch):
    texts = dict.fromkeys(("baseline", "system", "reference"), house.corpus / "dev.target")
    for seed in ("abc", "-1"):
        monkeypatch.setenv("SACREBLEU_SEED", seed)
        line = arguments("compare", **texts, output=tmp_path / "c.json")
        refused(line, f"SACREBLEU_SEED={seed} is not a whole number; correct it, or unset it")
    monkeypatch.delenv("SACREBLEU_SEED")
    line = arguments("compare", **texts, output=tmp_path / "c.json", resamples=10**12)
    refused(line, f"--resamples {10**12}: out of memory; give fewer")
    assert not list(tmp_path.iterdir())

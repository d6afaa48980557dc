import csv
import json
from pathlib import Path

import pytest
from commands import arguments

from transformer.cli.main import main
from transformer.support.files import write_json, write_lines


def scores_of(line):
    """The scores that a command line writes."""
    assert main(line) == 0
    return json.loads(Path(line[line.index("--output") + 1]).read_text())


def test_score_writes_the_scores(house, scoring, capsys):
    record = scores_of(scoring())
    head = {"task": "ende", "model": "base", "seed": 1, "average": 2, "part": "dev", "sentences": 8}
    assert {key: record[key] for key in head} == head
    assert record["sacrebleu"]["score"] == pytest.approx(100)
    assert record["paper_bleu"]["score"] == pytest.approx(100)
    sides = {side: house.corpus / f"dev.{side}" for side in ("source", "target")}
    assert main(arguments("perplexity", package=house.package, **sides)) == 0
    assert float(capsys.readouterr().out) == pytest.approx(record["perplexity"], abs=1e-4)


def test_scores_record_how_the_lines_were_translated_and_their_perplexity_does_not_depend_on_it(
    house, scoring, tmp_path, capsysbinary, standard_input
):
    record, translations, perplexities = tmp_path / "record.json", tmp_path / "dev.translation", set()
    for how in ({"beam": 3, "precision": "bfloat16"}, {"sample": 1}):
        standard_input((house.corpus / "dev.source").read_bytes())
        assert main(arguments("translate", package=house.package, **how, record=record)) == 0
        translations.write_bytes(capsysbinary.readouterr().out)
        scores = scores_of(scoring(translations=translations, record=record))
        assert scores["decoding"] == json.loads(record.read_text())
        assert {key: scores["decoding"][key] for key in how} == how
        perplexities.add(scores["perplexity"])
    assert len(perplexities) == 1


def test_a_record_of_other_translations_or_another_package_is_refused(house, scoring, recorded, refused):
    record = recorded(house.package, house.corpus / "dev.source")
    refused(scoring(record=record), f"{record}: belongs to translations with SHA-256", "dev.target has")
    record = recorded(house.package, house.corpus / "dev.target", weights="c0ffee")
    refused(scoring(record=record), f"{record}: belongs to a package whose weights have SHA-256 c0ffee, not ")
    write_json(record, {"perplexity": 5.5})
    refused(scoring(record=record), f"{record}: is not a record that this version")


def test_parses_are_scored_over_all_sentences_and_over_the_short_ones(tree_parser, tmp_path, refused, scoring):
    short, long = ("(S (NP (NN word)))", f"(S (NP {'(NN word)' * 41}))")
    (tmp_path / "dev.trees").write_text(f"{short}\n" * 7 + f"{long}\n")
    (tmp_path / "dev.translation").write_text("(S (NP XX )NP )S\n" * 7 + "(S XX\n")
    options = {"package": tree_parser, "reference": tmp_path / "dev.trees"}
    options |= {"translations": tmp_path / "dev.translation"}
    scores = scores_of(scoring(**options))["brackets"]
    assert (scores["recall"], scores["precision"], scores["exact"]) == (93.75, 100, 87.5)
    assert (scores["valid"], scores["error"], scores["skip"], scores["repaired"]) == (8, 0, 0, 1)
    assert (scores["up_to_40_words"]["f1"], scores["up_to_40_words"]["valid"]) == (100, 7)
    (tmp_path / "dev.translation").write_text(f"{short}\n" * 7 + "\n")
    refused(scoring(**options), "dev.trees are in Penn brackets, which `parse`")


def test_a_parser_reads_parentheses_as_brackets_of_the_treebank(tree_parser, tmp_path, scoring):
    (tmp_path / "dev.trees").write_text("(S (NN word))\n" * 8)
    (tmp_path / "dev.translation").write_text("(S XX )S\n" * 8)
    perplexities = set()
    for text in ("( the cat )", "-LRB- the cat -RRB-"):
        (tmp_path / "dev.source").write_text(f"{text}\n" * 8)
        options = {side: tmp_path / f"dev.{name}" for side, name in (("source", "source"), ("reference", "trees"))}
        line = scoring(package=tree_parser, translations=tmp_path / "dev.translation", **options)
        perplexities.add(scores_of(line)["perplexity"])
    assert len(perplexities) == 1


@pytest.mark.parametrize("wrong", ["source", "target", "reference", "translations"])
def test_scores_need_files_with_equal_numbers_of_lines(house, tmp_path, refused, scoring, wrong):
    refused(scoring(**{wrong: house.corpus / "train.target"}), house.corpus / "train.target", "200", "8")
    assert not (tmp_path / "scores.json").exists()


def test_a_text_other_than_the_translated_one_is_refused(house, refused, scoring):
    sides = {side: house.corpus / f"train.{side}" for side in ("source", "target")}
    refused(scoring(**sides), *sides.values(), "200 lines, but ", "dev.target has 8; give the text that was translated")


def test_compare_writes_both_tests(house, tmp_path, refused):
    target = house.corpus / "dev.target"
    options = {"baseline": target, "system": house.corpus / "dev.source", "reference": target}
    assert main(arguments("compare", **options, output=tmp_path / "comparison.json", resamples=50)) == 0
    record = json.loads((tmp_path / "comparison.json").read_text())
    assert record["baseline"] == pytest.approx(100)
    assert record["bootstrap"]["p"] == record["randomisation"]["p"] == pytest.approx(1 / 51)
    options["system"] = house.corpus / "train.source"
    refused(arguments("compare", **options, output=tmp_path / "no.json"), "train.source has 200 lines and", "has 8")


def test_a_set_with_markup_is_not_scored_as_text(house, scoring, tmp_path, refused):
    markup, plain = tmp_path / "newstest.xml", house.corpus / "dev.target"
    markup.write_text("<mteval>\n<refset>\n<doc docid='1'>\n<seg id='1'>Ein Hund.</seg>\n</doc>\n")
    texts = {"baseline": plain, "system": plain, "reference": plain}
    sides = {"package": house.package, "source": house.corpus / "dev.source", "target": plain}
    lines = [scoring(reference=markup), scoring(source=markup)]
    lines += [arguments("compare", **texts | {name: markup}, output=tmp_path / "c.json") for name in texts]
    lines += [arguments("perplexity", **sides | {name: markup}) for name in ("source", "target")]
    for line in lines:
        refused(line, f"{markup}: begins with markup, <", "give its segments, one a line")


def test_perplexity_by_length_is_a_csv_that_holds_every_pair_and_translates_and_scores_some(house, capsys, refused):
    sides = {side: house.corpus / f"dev.{side}" for side in ("source", "target")}
    line = arguments("perplexity", package=house.package, **sides)
    assert main([*line, "--by-length", "4", "8", "--translate", "3"]) == 0
    rows = list(csv.DictReader(capsys.readouterr().out.splitlines()))
    assert [row["shortest"] for row in rows] == sorted({row["shortest"] for row in rows} & {"1", "5", "9"})
    assert sum(int(row["pairs"]) for row in rows) == len(sides["source"].read_text().splitlines())
    assert [int(row["translations"]) for row in rows] == [min(3, int(row["pairs"])) for row in rows]
    assert all(int(row["ngrams_1"]) == int(row["words"]) and float(row["sacrebleu"]) >= 0 for row in rows)
    assert all(float(row["perplexity"]) > 1 for row in rows)
    refused([*line, "--translate", "3"], "--translate needs --by-length; give both")


def test_describe_prints_the_origin_of_a_package(house, capsys):
    assert main(arguments("describe", package=house.package)) == 0
    text = capsys.readouterr().out
    assert "ende (translation), en to de" in text
    assert "checkpoints of steps 9, 12" in text
    assert "12 steps" in text


@pytest.mark.parametrize("command", ["score", "compare"])
def test_an_output_that_cannot_be_written_is_refused_before_the_work(house, scoring, tmp_path, refused, command):
    """The work would end with an error of another kind, because these texts do not fit."""
    long, short = house.corpus / "train.target", house.corpus / "dev.target"
    compared = {"baseline": short, "system": long, "reference": short}
    lines = {"score": scoring(target=long, output=tmp_path)}
    lines |= {"compare": arguments("compare", **compared, output=tmp_path)}
    refused(lines[command], f"{tmp_path}: is a folder; name a file")


def test_scores_that_say_little_are_explained_in_the_file_and_on_standard_error(scoring, tmp_path, capsys):
    short = tmp_path / "short"
    write_lines(short, ["cat"] * 8)
    assert main(scoring(translations=short, reference=short)) == 0
    [note, _] = json.loads((tmp_path / "scores.json").read_text())["notes"]
    assert note.startswith("no translation has four words, so BLEU says little")
    assert f"warning: {short}: {note}\n" in capsys.readouterr().err
    assert main(arguments("compare", baseline=short, system=short, reference=short, output=tmp_path / "c.json")) == 0
    assert f"warning: {short}: {note}\n" in capsys.readouterr().err
    assert main(scoring()) == 0
    assert "notes" not in json.loads((tmp_path / "scores.json").read_text())
    assert "warning" not in capsys.readouterr().err

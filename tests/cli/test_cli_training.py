import json
import signal
import subprocess
import time

import pytest
import torch
from commands import CORPUS, arguments, in_a_process

from transformer.cli.main import main
from transformer.evaluation import step_time
from transformer.support import device
from transformer.support.files import write_lines
from transformer.support.strict import write_config
from transformer.training import run


def training(house, folder, **changes):
    options = {"config": house.root / "config.yaml", "subwords": house.subwords, "tokens": house.root / "tokens"}
    return arguments("train", **{**options, "output_dir": folder / "run", **changes})


def packing(house, folder, **changes):
    return arguments("package", **{**house.packing, "output_dir": folder / "package", **changes})


def test_a_package_in_the_working_folder_records_its_origin(house, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert main(packing(house, tmp_path, output_dir=".", beam=2, extra=5)) == 0
    config = json.loads((tmp_path / "config.json").read_text())
    assert config["averaged"] == [9, 12]
    assert config["decoding"] == {"beam": 2, "alpha": 0.6, "extra": 5}
    assert (config["source"], config["target"], config["corpus"]) == ("en", "de", CORPUS)


def test_the_time_of_a_step_is_measured(house, tmp_path, monkeypatch):
    monkeypatch.setattr(step_time, "PATIENCE", 0.0)  # do not wait for other tests
    options = {"config": house.root / "config.yaml", "subwords": house.subwords, "tokens": house.root / "tokens"}
    assert main(arguments("step-time", **options, output=tmp_path / "times.json", micro_batch_tokens=100)) == 0
    record = json.loads((tmp_path / "times.json").read_text())
    [row] = record["rows"]
    assert min(row["seconds"]) > 0
    assert record["threads"] == 1


def test_a_readme_has_the_scores(house, tmp_path, scoring):
    scores = tmp_path / "scores.json"
    assert main(scoring()) == 0
    assert main(arguments("readme", package=house.package, scores=scores)) == 0
    readme = (house.package / "README.md").read_text()
    assert "trained on toy (random words; CC0)" in readme
    assert "BLEU 100.0 (nrefs:1\\|" in readme


def test_a_warmup_that_does_not_end_is_told_before_training(house, tmp_path, run_config, capsys):
    write_config(tmp_path / "config.yaml", run_config(warmup=13))
    assert main(training(house, tmp_path, config=tmp_path / "config.yaml")) == 0
    text = "a warmup of 13 steps does not end in 12 steps of training; lower warmup or raise steps"
    assert f"warning: {tmp_path}/config.yaml: {text}\n" in capsys.readouterr().err


def test_the_inputs_of_training_have_to_exist_and_fit_together(house, tmp_path, refused):
    refused(training(house, tmp_path, tokens=tmp_path), f"{tmp_path}/train: its ids cannot be read")
    refused(training(house, tmp_path, subwords=house.corpus / "dev.source"), "dev.source: not a SentencePiece model")
    small, sides = tmp_path / "small.model", house.sides("train")
    assert main(arguments("subwords", **sides, output=small, vocabulary=45)) == 0
    refused(training(house, tmp_path, subwords=small), "tokens/train: encoded with 60 subwords", "not with 45 subwords")
    assert not (tmp_path / "run").exists()


def test_texts_are_checked_against_the_positions_of_their_readers_before_training(house, tmp_path, refused):
    texts = [tmp_path / "dev.source", tmp_path / "test.source"]
    for text in texts:
        write_lines(text, ["a cat", "the " * 9])
    for limits, path in (("dev=base:10,test=E-a.b:9", texts[1]), ("dev=E-a.b:9", texts[0])):
        said = f"{path}, line 2: 10 subwords, but E-a.b has learned 9 positions (max_length); split the line"
        refused(training(house, tmp_path, texts=texts, limits=limits), said)
    write_lines(texts[1], ["a cat", " "])
    refused(training(house, tmp_path, texts=texts, limits=""), f"{texts[1]}, line 2: ' ' has no subword")
    assert not (tmp_path / "run").exists()
    write_lines(texts[1], ["a cat"])
    assert main(training(house, tmp_path, texts=texts, limits="dev=E-learned:10,train=x:1")) == 0


@pytest.mark.parametrize(("asked", "taken"), [(0, 4096), (24, 24)])
def test_the_command_takes_the_size_of_a_forward_pass(house, tmp_path, asked, taken):
    assert main(training(house, tmp_path, micro_batch_tokens=asked)) == 0
    [attempt] = json.loads((tmp_path / "run/training.json").read_text())["attempts"]
    assert (attempt["micro_batch_tokens"], attempt["trainings_per_gpu"]) == (taken, 1)


def test_trainings_that_share_a_gpu_are_told_to_it_and_are_to_be_fewer_when_memory_runs_out(
    house, tmp_path, capsys, monkeypatch
):
    asked = []

    def train_run(*_):
        with device.within_memory("ende base", "lower this"):
            raise torch.OutOfMemoryError

    monkeypatch.setattr(device, "choose_device", lambda *given: asked.append(given) or torch.device("cuda"))
    monkeypatch.setattr(run, "train_run", train_run)
    assert main(training(house, tmp_path, trainings_per_gpu=3)) == 1
    assert asked == [(0, 1, 3)]
    told = "lower this; or let fewer trainings share a GPU: --trainings-per-gpu 2 (now 3)"
    assert told in capsys.readouterr().err


def test_inputs_of_a_package_that_do_not_belong_together_are_refused(house, tmp_path, run_config, refused):
    whole = house.packing["checkpoints"][0]
    names = ("cut", "config.yaml", "other.model", "record.json")
    cut, config, subwords, record = (tmp_path / name for name in names)
    cut.write_bytes(whole.read_bytes()[:-10])
    write_config(config, run_config(longest_pair=64, batch_tokens=400, P_drop=0.2))
    assert main(arguments("subwords", **house.sides("train"), output=subwords, vocabulary=60, pairs=100)) == 0
    record.write_text(json.dumps(json.loads(house.packing["training"].read_text()) | {"config_sha256": "0" * 64}))
    for given, message in (
        ({"checkpoints": [whole, cut]}, f"{cut}: damaged"),
        ({"checkpoints": [whole, whole]}, "two are of the same step"),
        ({"config": config}, f"{whole}: this is no checkpoint of a run with {config}"),
        ({"subwords": subwords}, f"{whole}: this is no checkpoint of a run with {subwords}"),
        ({"training": record}, f"{record}: this record is not of a run of"),
    ):
        refused(packing(house, tmp_path, **given), message)
    assert not (tmp_path / "package").exists()
    assert main(packing(house, tmp_path, beam=10**12)) == 1


def test_training_interrupted_by_sigterm_is_resumed(house, tmp_path, run_config):
    config = tmp_path / "config.yaml"
    write_config(config, run_config(longest_pair=64, batch_tokens=400, steps=100))
    line = training(house, tmp_path, config=config)
    history = tmp_path / "run" / "state" / "history.csv"
    with in_a_process(line, stderr=subprocess.PIPE) as process:
        while process.poll() is None and not history.exists():
            time.sleep(0.005)
        process.send_signal(signal.SIGTERM)
        _, errors = process.communicate(timeout=10)
    assert process.returncode == 128 + signal.SIGTERM
    assert errors.splitlines()[-1] == "interrupted by SIGTERM; the state is saved: start the command again to resume"
    assert not (tmp_path / "run" / "training.json").exists()
    assert main(line) == 0
    assert json.loads((tmp_path / "run/training.json").read_text())["resumed"] == 1

import dataclasses
from itertools import islice

import numpy as np
import pytest
import torch

from transformer.evaluation import step_time
from transformer.evaluation.step_time import ROUNDS, STEPS, Setup, step_times, wait_until_idle
from transformer.model.flops import forward_flops
from transformer.text.batches import Batches
from transformer.text.tokens import Pairs, pack, write_pairs

VOCABULARY = 50


@pytest.fixture
def given(tmp_path):
    random = np.random.default_rng(1)
    sides = [[[*random.integers(3, VOCABULARY, n), 2] for n in random.integers(2, 12, 60)] for _ in range(2)]
    write_pairs(tmp_path / "train", [pack(*sides, VOCABULARY)], VOCABULARY)
    return Setup(VOCABULARY, "", tmp_path, torch.device("cpu"), 1, 0)


def test_all_runs_take_steps_on_the_same_batches_in_every_round(given, run_config, monkeypatch):
    monkeypatch.setattr(step_time, "wait_until_idle", lambda: 0.0)
    in_turns, measured = step_time.in_turns, []
    monkeypatch.setattr(step_time, "in_turns", lambda *given: measured.append(in_turns(*given)) or measured[0])
    base = run_config(batch_tokens=64, longest_pair=16)
    wide = dataclasses.replace(base, model="wide", architecture=dataclasses.replace(base.architecture, d_ff=128))
    record = step_times([base, wide], given)
    narrow, broad = record["rows"]
    assert [row["model"] for row in record["rows"]] == [base.model, "wide"]
    assert (record["threads"], record["rounds"], record["steps"]) == (1, ROUNDS, STEPS["cpu"])
    assert np.array([row["seconds"] for row in record["rows"]]) == pytest.approx(measured[0].T / STEPS["cpu"])
    assert all(len(row["seconds"]) == len(row["others"]) == ROUNDS for row in record["rows"])
    batches = Batches(Pairs.read(given.tokens / "train"), 64, 4096, 16, base.seed).from_position(0, 0)
    lengths = np.concatenate([micro.lengths for *_, step in islice(batches, STEPS["cpu"]) for micro in step])
    assert narrow["target_tokens"] == broad["target_tokens"] == lengths[:, 1].sum() / STEPS["cpu"]
    flops = [3 * forward_flops(run.architecture, VOCABULARY, lengths) / STEPS["cpu"] for run in (base, wide)]
    assert [narrow["flops"], broad["flops"]] == pytest.approx(flops)
    assert narrow["config_sha256"] == base.sha256()


@pytest.mark.parametrize(
    ("loads", "patience", "said"),
    [
        ([0.1], 30.0, []),
        ([np.nan], 30.0, []),
        ([1.5, 1.0, 0.1], 30.0, ["other programs use 1.5 CPU cores"]),
        ([1.5, 1.4], -1.0, ["warning: other programs still use 1.5 CPU cores"]),
    ],
    ids=["an idle machine", "an unknown load", "other programs end", "other programs do not end"],
)
def test_other_programs_are_waited_for_and_told(monkeypatch, capsys, loads, patience, said):
    seconds = iter(loads)
    monkeypatch.setattr(step_time, "used_by_others", lambda _: next(seconds))
    monkeypatch.setattr(step_time, "PATIENCE", patience)
    wait_until_idle()
    lines = capsys.readouterr().err.splitlines()
    assert [line[: len(text)] for line, text in zip(lines, said, strict=True)] == said

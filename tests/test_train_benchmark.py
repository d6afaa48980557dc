"""Test the comparison of libraries, benchmarks/train.py, with tiny models. The other library is PyTorch."""

import sys

import numpy as np
import pytest

from benchmarks import train
from transformer.model.ids import END
from transformer.text.tokens import pack, write_pairs

VOCABULARY = 3000  # with few subwords the losses would differ: the embedding of padding is 0 only in other libraries


def test_each_model_trains_in_a_process_of_its_own(tmp_path, monkeypatch, capsys):
    random = np.random.default_rng(1)
    sides = [[[*random.integers(3, VOCABULARY, n), END] for n in random.integers(2, 12, 200)] for _ in range(2)]
    write_pairs(tmp_path / "train", [pack(*sides, VOCABULARY)], VOCABULARY)
    options = {"tokens": tmp_path / "train", "vocabulary": VOCABULARY, "sizes": "1/16/32/2", "threads": 1}
    options |= {"batch-tokens": 96, "loss-steps": 21}
    words = [word for option, value in options.items() for word in (f"--{option}", str(value))]
    monkeypatch.setattr(sys, "argv", ["train.py", *words])
    name = "torch.nn.Transformer"
    monkeypatch.setattr(train, "PEERS", {name: train.PEERS[name]})
    train.main()
    rows = [line.split(" | ") for line in capsys.readouterr().out.splitlines() if line.startswith("| 1/16/32/2 ")]
    assert [row[1] for row in rows] == ["ours", name]
    assert all(float(row[3].replace(",", "")) > 0 for row in rows)
    ours, other = (float(row[8]) for row in rows)
    assert ours == pytest.approx(other, rel=0.01)

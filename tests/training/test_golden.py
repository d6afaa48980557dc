"""The losses of a small run, step by step, as they were when golden.csv was written.

`GOLDEN=write python -m pytest tests/training/test_golden.py` writes it anew, after a change that is meant to be seen.
"""

import os
from pathlib import Path

import pytest

from transformer.support.files import read_lines, write_lines

GOLDEN = Path(__file__).with_name("golden.csv")


def test_the_losses_of_100_steps_have_not_changed(start):
    # Steps are small: rounding differs between machines, and larger steps would let it switch a ReLU on or off.
    changes = {"steps": 100, "warmup": 40, "learning_rate": 0.05, "epsilon": 1e-6}
    trainer = start(N=2, d_model=32, d_ff=64, d_k=16, d_v=16, **changes)
    trainer.train()
    losses = {step: loss for step, loss, *_ in trainer.state.history}
    if os.environ.get("GOLDEN") == "write":
        write_lines(GOLDEN, ["step,loss", *(f"{step},{loss:.5g}" for step, loss in losses.items())])
    golden = [line.split(",") for line in read_lines(GOLDEN)[1:]]
    assert losses == pytest.approx({int(step): float(loss) for step, loss in golden}, rel=1e-3)
    assert len(losses) == 100

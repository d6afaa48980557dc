import shutil

import pytest

from workflow.results.common.overfitting import Best, overfitted, overfitting_notes

HEAD = "step,loss,learning_rate,gradient_norm,tokens_per_second,dev_perplexity"


@pytest.fixture
def history(tmp_path):
    """Writes a history with these perplexities on dev every 100 steps, and a loss every 50."""

    def write(*perplexities, name="history.csv"):
        rows = [f"{100 * i - 50},2,1,1,1,\n{100 * i},2,1,1,1,{each}" for i, each in enumerate(perplexities, 1)]
        (tmp_path / name).write_text("\n".join([HEAD, *rows]) + "\n")
        return tmp_path / name

    return write


@pytest.mark.parametrize(
    ("perplexities", "best"),
    [
        ((9, 7, 6, 5, 5.5, 6), Best(400, 5, 600, 6)),
        ((9, 7, 6, 5, 5.1), Best(400, 5, 500, 5.1)),
        ((9, 7, 6, 5, 4), None),  # best at the end
        ((9, 7, 6, 5.5, 5, 5.5), None),  # best shortly before the end
        ((9, 7, 5, 5.01, 5.09), None),  # hardly worse at the end
        ((9, 5, 6, 7), None),  # measured too seldom
        ((), None),
    ],
)
def test_a_run_overfits_if_it_was_best_well_before_the_end(history, perplexities, best):
    assert overfitted(history(*perplexities)) == best


def test_a_model_that_overfits_is_named_with_its_step_and_what_to_set(results, history):
    falling, rising = history(9, 7, 6, 5, 4), history(9, 5, 6, 7, 8, name="rising.csv")
    runs = [results.run("ende", "base", seed, part="test") for seed in (1, 2, 3)]
    runs.append(results.run("enfr", "big", part="test"))
    for run, shape in zip(runs, (falling, rising, rising, falling), strict=True):
        shutil.copy(shape, run.history)
    said = (
        "ende base, A-h8 overfits in 2 of 3 runs: perplexity on dev was best, 5.00, at step 200 of 500, and ended at "
        "8.00. Set `steps: 200` for this model, raise its P_drop, or train on more text."
    )
    equal = {"ende": {"base": ["base", "A-h8"]}, "enfr": {"big": ["big"]}}
    assert overfitting_notes([run.history for run in runs], equal) == [said]
    assert f"- {said}" in results.table("table2", runs, equal=equal)[1][0]

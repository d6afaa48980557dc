import pytest

from transformer.experiment.config import read_experiment
from transformer.length.config import LengthRun, Study
from transformer.support.strict import ConfigError, load, plain, read_yaml, write_config


@pytest.fixture(scope="module")
def values():
    return plain(read_experiment([]).length)


def faults(values, **changes):
    with pytest.raises(ConfigError) as caught:
        load(Study, values | changes, "config")
    return caught.value.faults


def test_every_run_of_the_study_is_a_config_of_its_own(values, tmp_path):
    study = load(Study, values, "config")
    for task in study.tasks:
        for positions in study.positions:
            run = study.run(task, positions, 1)
            write_config(tmp_path / "config.yaml", run)
            assert load(LengthRun, read_yaml(tmp_path / "config.yaml"), "config") == run
            assert run.architecture().positions == positions


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"tasks": ["coppy"]}, "steps.coppy: missing"),
        ({"tasks": ["coppy"]}, "task: unknown task coppy; did you mean copy?"),
        ({"tasks": []}, "tasks: is empty; give at least one"),
        ({"positions": ["rope"]}, "positions: 'rope' is not one of none, sinusoidal"),
        ({"positions": ["t5", "t5"]}, "positions: t5 comes twice"),
        ({"seeds": [-1]}, "seed: -1 is negative"),
        ({"steps": {"copy": 0}}, "steps: 0 is not positive"),
        ({"steps": {}}, "steps.copy: missing; say how long it is trained"),
    ],
)
def test_a_wrong_study_is_told_what_exists(values, changes, told):
    assert any(fault.startswith(told) for fault in faults(values, **changes))


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"trained": [8, 2]}, "recipe.trained: [8, 2] is no range from 1 upwards, the least first"),
        ({"tested": 8}, "recipe.tested: 8 is no unseen length; give more than 8 (trained)"),
        ({"symbols": 1}, "recipe.symbols: 1 leave nothing to tell apart; give at least 2"),
        ({"h": 3}, "recipe.h: 3 heads do not share out a d_model of 64; choose a divisor"),
        ({"batch": 0}, "recipe.batch: 0 is not positive"),
        ({"h": 0}, "recipe.h: 0 is not positive"),
        ({"tested": -5}, "recipe.tested: -5 is no unseen length; give more than 8 (trained)"),
        ({"tested": 10**12}, "recipe.tested: 1000000000000 is too long for attention's memory; give at most 1000"),
        ({"d_ff": 0}, "d_ff: 0 is not positive"),
        ({"learning_rate": "fast"}, "recipe.learning_rate: 'fast' is not a number"),
    ],
)
def test_a_wrong_recipe_is_told_what_to_write(values, changes, told):
    assert any(fault.startswith(told) for fault in faults(values, recipe=values["recipe"] | changes))


def test_rotary_positions_want_an_even_number_a_head(values):
    recipe = values["recipe"] | {"d_model": 60, "h": 4}
    assert faults(values, recipe=recipe) == ["d_k: 15 is odd; rotary positions turn pairs, choose an even number"]

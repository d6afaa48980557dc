import pytest

from transformer.length.config import LengthRun, Study
from transformer.support.strict import ConfigError, load, plain, read_yaml, write_config
from workflow.experiment.config import read_experiment


@pytest.fixture(scope="module")
def values():
    return plain(read_experiment([]).length)


def faults(values, **changes):
    with pytest.raises(ConfigError) as caught:
        load(Study, values | changes, "config")
    return list(map(str, caught.value.faults))


def test_every_run_of_the_study_has_its_own_config(values, tmp_path):
    study = load(Study, values | {"recipe": values["recipe"] | {"P_drop": 0.1}}, "config")
    for task in study.tasks:
        for positions in study.positions:
            run = study.run(task, positions, 1)
            write_config(tmp_path / "config.yaml", run)
            assert load(LengthRun, read_yaml(tmp_path / "config.yaml"), "config") == run
            network, recipe = run.architecture(), study.recipe
            assert network.positions == positions
            assert network.d_k == network.d_v == recipe.d_model // recipe.h
            for key in ("N", "d_model", "d_ff", "h", "P_drop"):
                assert getattr(network, key) == getattr(recipe, key)


@pytest.mark.parametrize(
    ("changes", "text"),
    [
        ({"tasks": ["coppy"]}, "tasks[0]: unknown task coppy; did you mean copy?"),
        ({"positions": ["t5", "t5"]}, "positions: t5 comes twice; name it once"),
        ({"seeds": [-1]}, "seeds[0]: Input should be greater than or equal to 0 (got -1)"),
        ({"tasks": ["copy"], "steps": {}}, "steps.copy: missing; give the number of training steps"),
        ({"tasks": ["copy"], "steps": {"copy": 3, "kopy": 3}}, "steps.kopy: unknown task kopy; did you mean copy?"),
    ],
)
def test_a_wrong_study_gives_one_fault_that_names_the_key(values, changes, text):
    [fault] = faults(values, **changes)
    assert fault.startswith(text)


@pytest.mark.parametrize(
    ("changes", "text"),
    [
        ({"trained": [8, 2]}, "recipe.trained: [8, 2] is not a range; write [least, most], from 1 upwards"),
        ({"tested": 8}, "recipe.tested: 8 is not above the trained lengths; give more than 8"),
        ({"h": 3}, "recipe.h: 3 does not divide d_model, 64; choose a divisor"),
        ({"d_model": 63, "h": 7}, "recipe.d_model: 63 is odd; sines and cosines come in pairs, so choose an even"),
        ({"tested": 10**12}, "recipe.tested: Input should be less than or equal to 1000 (got 1000000000000)"),
        ({"batch": 10**9}, "recipe.batch: Input should be less than or equal to 10000 (got 1000000000)"),
    ],
)
def test_a_wrong_recipe_gives_one_fault_with_a_remedy(values, changes, text):
    [fault] = faults(values, recipe=values["recipe"] | changes)
    assert fault.startswith(text)

"""Keys given on Snakemake's command line, `--config KEY=VALUE`."""

import pytest
from snakemake.cli import parse_config
from snakemake.utils import update_config

from transformer.support.strict import ConfigError
from workflow.dag.checks import checked
from workflow.experiment.config import read_sources


def given(*entries):
    """The experiment that Snakemake gets from the project's config and these entries."""
    config = {}
    for source in read_sources([]).values():
        update_config(config, source)
    values = parse_config(entries)
    update_config(config, values)
    return checked(config, [], entries)


def test_numbers_true_and_null_in_mappings_and_lists_are_read_as_in_a_file():
    experiment = given(
        "experiment=own",
        "models={base: {steps: 1300, P_drop: 0.2}, mine: {h: 4, d_k: 128}}",
        "seeds=[1, 2]",
        "searches=null",
    )
    run = experiment.run("ende", "base", 1)
    assert (run.training.steps, run.architecture.P_drop) == (1300, 0.2)
    assert experiment.models["mine"] == {"h": 4, "d_k": 128}
    assert experiment.seeds == (1, 2)
    assert experiment.searches is None


def test_texts_stay_texts():
    experiment = given("experiment=mine", "notes=[as of 2026, 'a: b', '5']", "scale={width: 1/8}")
    assert (experiment.experiment, experiment.notes) == ("mine", ("as of 2026", "a: b", "5"))
    assert experiment.scale.width == 1 / 8


@pytest.mark.parametrize(
    ("entry", "said"),
    [
        ("table3_average=0100", "table3_average: readers of YAML disagree about 0100"),
        ("table3_average=1_0", "table3_average: readers of YAML disagree about 1_0"),
        ("models={base: {steps: 1:40}}", "models: readers of YAML disagree about 1:40"),
        ("scale={width: 1:4, depth: 1}", "scale: readers of YAML disagree about 1:4"),
        ("results=on", "results: readers of YAML disagree about on; write 'on' in quotes"),
        ("tasks={ende: {target: no}}", "tasks: readers of YAML disagree about no; write 'no' in quotes"),
        ("corpora={no: {}}", "corpora: the key no is not read as a text; write 'no' in quotes"),
    ],
)
def test_a_word_that_is_read_in_two_ways_is_refused(entry, said):
    with pytest.raises(ConfigError, match=f"^--config: {said}"):
        given(entry)


def test_a_text_in_quotes_may_look_like_a_number():
    assert given("experiment='0100'").experiment == "0100"
    assert given('results="no"').results == "no"
    assert given("results=a: b: c").results == "a: b: c"


@pytest.mark.parametrize("value", ["five", "5.5", "true", "null"])
def test_what_is_no_number_is_refused(value):
    with pytest.raises(ConfigError, match=r"^--config: models.base.steps: Input should be a valid integer"):
        given(f"models={{base: {{steps: {value}}}}}")

"""Keys given on Snakemake's command line, `--config KEY=VALUE`."""

import pytest

from transformer.support.files import InputError
from workflow.dag.checks import checked, sources_of


def given(*entries):
    """The experiment of these entries."""
    sources, _ = sources_of([], entries)
    return checked(sources, {})[0]


def test_values_are_read_as_in_a_file_and_what_is_not_yaml_is_a_text():
    experiment = given(
        "experiment='0100'",
        "models={base: {steps: 1300, P_drop: 0.2}, mine: {h: 4, d_k: 128}}",
        "seeds=[1, 2]",
        "searches=null",
        "notes=[as of 2026, 'a: b', '2001-09-09', '5']",
        "scale={width: 1/8}",
        "results=a: b: c",
    )
    run = experiment.run("ende", "base", 1)
    assert (run.training.steps, run.architecture.P_drop) == (1300, 0.2)
    assert experiment.models["mine"] == {"h": 4, "d_k": 128}
    assert (experiment.seeds, experiment.searches, experiment.scale.width) == ((1, 2), None, 1 / 8)
    assert experiment.notes == ("as of 2026", "a: b", "2001-09-09", "5")
    assert (experiment.experiment, experiment.results) == ("0100", "a: b: c")


@pytest.mark.parametrize(
    ("entry", "said"),
    [
        ("table3_average=0100", "table3_average: readers of YAML disagree about 0100"),
        ("tasks={ende: {target: no}}", "tasks: readers of YAML disagree about no; write 'no' in quotes"),
        ("seeds=1", r"seeds: Input should be a valid array \(got 1\)"),
        ("replace=5", "replace: 5 is neither true nor false"),
        ("packages=", "packages has no value; write it behind packages=, or packages=null for none"),
    ],
)
def test_a_faulty_value_is_refused_with_its_key(entry, said):
    with pytest.raises(InputError, match=f"^--config: {said}"):
        given(entry)


@pytest.mark.parametrize(("entries", "may"), [([], False), (["replace=true"], True), (["replace=false"], False)])
def test_the_permission_to_replace_runs_is_no_key_of_the_experiment(entries, may):
    sources, replace = sources_of([], entries)
    assert replace is may
    assert "replace" not in sources["--config"]

from dataclasses import replace
from types import SimpleNamespace

import pytest

from transformer.experiment.config import Task
from transformer.experiment.origin import check_origin
from transformer.package.config import Decoding
from transformer.support.files import InputError


@pytest.fixture
def experiment(run_config):
    """One that makes such packages, some keys of its task or run changed."""

    def make(run=(), **task):
        of = Task("translation", "toy", "en", "de", 60, Decoding(4, 0.6, 50), ("base",))
        return SimpleNamespace(tasks={"ende": replace(of, **task)}, run=lambda *_: run_config(**dict(run)))

    return make


def test_a_package_of_the_experiment_is_taken(save, experiment):
    check_origin(save(), experiment(), "ende/base/1/average-3")


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"corpus": "help"}, "its corpus is toy, the experiment's help"),
        ({"vocabulary": 70}, "its vocabulary is 60, the experiment's 70"),
        ({"run": {"d_ff": 64}}, "its d_ff is 32, the experiment's 64"),
        ({"run": {"attention_radius": 3}}, "its attention_radius is None, the experiment's 3"),
        ({"run": {"steps": 24}}, r"its averaged is \(6, 9, 12\), the experiment's \(18, 21, 24\)"),
    ],
)
def test_a_package_of_another_experiment_is_refused(save, experiment, changes, message):
    with pytest.raises(InputError, match=message):
        check_origin(save(), experiment(**changes), "ende/base/1/average-3")


def test_a_package_with_a_value_that_the_experiment_leaves_at_its_default_is_refused(save, experiment):
    with pytest.raises(InputError, match="its attention_radius is 3, the experiment's None"):
        check_origin(save(attention_radius=3), experiment(), "ende/base/1/average-3")


def test_a_package_that_does_not_say_what_made_it_is_refused(save, change_package, experiment):
    folder = save()
    change_package(folder, training={"config_sha256": "c0ffee"})
    with pytest.raises(InputError, match="its training lacks software, as of an earlier version; train it again"):
        check_origin(folder, experiment(), "ende/base/1/average-3")


def test_a_package_in_the_place_of_another_is_refused(save, experiment):
    with pytest.raises(InputError, match=r"the package of ende/base/1/average-3, not of ende/base/2/average-3"):
        check_origin(save(), experiment(), "ende/base/2/average-3")

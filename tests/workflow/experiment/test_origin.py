from dataclasses import replace
from types import SimpleNamespace

import pytest

from transformer.package.config import Decoding
from transformer.support.files import InputError
from workflow.experiment.config import Task
from workflow.experiment.origin import check_origin


@pytest.fixture
def experiment(run_config):
    """An experiment that makes such packages, with some keys of its task or run changed."""

    def make(run=(), **task):
        of = Task("translation", "toy", "en", "de", 60, Decoding(3, 0.6, 10), ("base",))
        return SimpleNamespace(tasks={"ende": replace(of, **task)}, run=lambda *_: run_config(**dict(run)))

    return make


def test_a_package_of_the_experiment_is_accepted(save, experiment):
    check_origin(save(), experiment(), "ende/base/1/average-3")


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"corpus": "help"}, "its corpus is toy, but the experiment's is help"),
        ({"vocabulary": 70}, "its vocabulary is 60, but the experiment's is 70"),
        ({"run": {"d_ff": 64}}, "its d_ff is 32, but the experiment's is 64"),
        ({"run": {"attention": "additive"}}, "its attention is scaled, but the experiment's is additive"),
        ({"decoding": Decoding(3, 1.0, 10)}, r"its decoding is Decoding\(beam=3, alpha=0.6, extra=10\), but"),
        ({"run": {"eps_ls": 0.2}}, r"was trained with other settings \(steps, learning rate, dropout, ...\) than"),
        ({"run": {"steps": 24}}, r"its averaged is \(6, 9, 12\), but the experiment's is \(18, 21, 24\)"),
    ],
)
def test_a_package_of_another_experiment_is_refused(save, experiment, changes, message):
    with pytest.raises(InputError, match=message):
        check_origin(save(), experiment(**changes), "ende/base/1/average-3")


def test_a_package_in_the_place_of_another_is_refused(save, experiment):
    with pytest.raises(InputError, match=r"must be the package of ende/base/2/average-3, not of ende/base/1/average-3"):
        check_origin(save(), experiment(), "ende/base/2/average-3")

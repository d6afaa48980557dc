"""The check that a package is one that an experiment would make."""

from pathlib import Path

from transformer.package.config import read_package_config
from transformer.support.files import InputError
from workflow.experiment.config import Experiment

REMEDY = "give its packages, or the config with which these were trained"


def check_origin(folder: Path, experiment: Experiment, place: str) -> None:
    """Raises InputError for a damaged package, and for one that is not what `experiment` would make at `place`.

    `place` is task/model/seed/average-N.
    """
    config = read_package_config(folder)
    if (own := f"{config.task}/{config.model}/{config.seed}/average-{len(config.averaged)}") != place:
        raise InputError(f"{folder}: must be the package of {place}, not of {own}; put the right one here")
    if missing := sorted({"config_sha256", "software"} - config.training.keys()):
        raise InputError(
            f"{folder}: its training record lacks {', '.join(missing)} (an earlier version made it); train it again"
        )
    task, run = experiment.tasks[config.task], experiment.run(config.task, config.model, config.seed)
    expected = {
        **{key: getattr(task, key) for key in ("kind", "corpus", "source", "target", "vocabulary", "decoding")},
        "averaged": tuple(sorted(run.training.checkpoint_steps()[: len(config.averaged)])),
        **vars(run.architecture),
    }
    given = {**vars(config), "corpus": config.corpus.get("corpus"), **vars(config.architecture)}
    for key, value in expected.items():
        if given[key] != value and key == "idea":
            raise InputError(f"{folder}: its idea is another than the experiment's; {REMEDY}")
        if given[key] != value:
            raise InputError(f"{folder}: its {key} is {given[key]}, but the experiment's is {value}; {REMEDY}")
    if config.training["config_sha256"] != run.sha256():
        raise InputError(
            f"{folder}: was trained with other settings (steps, learning rate, dropout, ...) than the experiment's; "
            f"{REMEDY}"
        )

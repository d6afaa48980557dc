"""Examples in config/README.md."""

import re
from pathlib import Path

import yaml

from transformer.experiment.config import read_experiment

ROOT = Path(__file__).parents[1]


def test_the_example_of_keys_on_the_command_line_is_a_config_that_can_run(tmp_path):
    readme = (ROOT / "config/README.md").read_text()
    key, _, value = re.search(r"^`--config '(.*)'` sets keys", readme, re.MULTILINE)[1].partition("=")
    (tmp_path / "overlay.yaml").write_text(yaml.safe_dump({key: yaml.safe_load(value)}))
    changed = read_experiment([tmp_path / "overlay.yaml"])
    assert changed.run("ende", "base", 1).training.steps == yaml.safe_load(value)["base"]["steps"]

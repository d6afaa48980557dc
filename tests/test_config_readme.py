"""Examples in config/README.md."""

import re
from pathlib import Path

import yaml

from transformer.experiment.advice import check_name
from transformer.experiment.config import read_experiment, read_sources

ROOT = Path(__file__).parents[1]


def test_the_example_of_keys_on_the_command_line_is_a_config_that_can_run(tmp_path):
    readme = (ROOT / "config/README.md").read_text()
    name, key, value = re.search(r"^`--config experiment=(.*) '(.*?)=(.*)'` sets keys", readme, re.MULTILINE).groups()
    (tmp_path / "overlay.yaml").write_text(yaml.safe_dump({"experiment": name, key: yaml.safe_load(value)}))
    changed = read_experiment([tmp_path / "overlay.yaml"])
    check_name(changed, read_sources([tmp_path / "overlay.yaml"]))
    assert changed.run("ende", "base", 1).training.steps == yaml.safe_load(value)["base"]["steps"]

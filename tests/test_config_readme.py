"""Examples in config/README.md."""

import re
import textwrap

import yaml

from tests.pages import ROOT
from workflow.experiment.config import read_experiment


def test_the_example_of_keys_on_the_command_line_is_a_config_that_can_run(tmp_path):
    readme = (ROOT / "config/README.md").read_text()
    name, key, value = re.search(r"^`--config experiment=(.*) '(.*?)=(.*)'` sets keys", readme, re.MULTILINE).groups()
    (tmp_path / "overlay.yaml").write_text(yaml.safe_dump({"experiment": name, key: yaml.safe_load(value)}))
    changed = read_experiment([tmp_path / "overlay.yaml"])
    assert changed.run("ende", "base", 1).training.steps == yaml.safe_load(value)["base"]["steps"]


def test_the_example_of_lists_adds_a_row_and_a_seed_to_small(tmp_path):
    example = (ROOT / "config/README.md").read_text().partition("    # wide.yaml\n")[2].partition("\n\n")[0]
    (tmp_path / "wide.yaml").write_text(textwrap.dedent(example))
    small, wide = (read_experiment([ROOT / "config/small.yaml", *more]) for more in ([], [tmp_path / "wide.yaml"]))
    assert wide.tasks["ende"].models == (*small.tasks["ende"].models, "wide")
    assert len(wide.tasks["ende"].models) == 35
    assert wide.seeds == (1, 2, 3, 4, 5, 6)

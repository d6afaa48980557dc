"""The table of keys in config/README.md, which Snakemake's workflow catalog shows too."""

import dataclasses
import re
from pathlib import Path

import yaml

from transformer.experiment.config import Experiment, read_experiment
from transformer.support.strict import plain

ROOT = Path(__file__).parents[1]


def test_every_key_of_the_config_is_in_the_table_with_its_default():
    rows = re.findall(r"^\| `(\w+)` \| (.*?) \| .+ \|$", (ROOT / "config/README.md").read_text(), re.MULTILINE)
    fields = [field.name for field in dataclasses.fields(Experiment)]
    told = {key: default for key, default in rows if key in fields}
    assert list(told) == fields
    quick = plain(read_experiment([]))
    for key in ("experiment", "results", "mirror", "packages", "seeds", "table3_average"):
        assert told[key] == f"`{str(quick[key]).replace('None', 'null')}`", key
    for key in ("scale", "subwords", "figures"):
        assert told[key] == f"`{{{', '.join(f'{name}: {value}' for name, value in quick[key].items())}}}`", key
    assert told["tasks"] == ", ".join(f"`{task}`" for task in quick["tasks"])


def test_the_example_of_keys_on_the_command_line_is_a_config_that_can_run(tmp_path):
    readme = (ROOT / "config/README.md").read_text()
    key, _, value = re.search(r"^`--config '(.*)'` sets keys", readme, re.MULTILINE)[1].partition("=")
    (tmp_path / "overlay.yaml").write_text(yaml.safe_dump({key: yaml.safe_load(value)}))
    changed = read_experiment([tmp_path / "overlay.yaml"])
    assert changed.run("ende", "base", 1).training.steps == yaml.safe_load(value)["base"]["steps"]

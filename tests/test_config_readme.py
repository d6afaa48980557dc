"""The table of keys in config/README.md, which Snakemake's workflow catalog shows too."""

import dataclasses
import re
from pathlib import Path

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

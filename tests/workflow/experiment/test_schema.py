"""config/schema.json, and the tables of keys in config/README.md, which Snakemake's workflow catalog shows too."""

import json
from pathlib import Path

import jsonschema
import pytest

from transformer.support.files import as_json
from transformer.support.strict import read_yaml
from workflow.experiment.schema import CATALOG, TABLES, documented, for_catalog, schema

FOLDER = Path(__file__).parents[3] / "config"
FILES = sorted(path for path in FOLDER.glob("*.yaml") if path.name != "published.yaml")
VALIDATOR = jsonschema.Draft202012Validator(schema())


def test_the_schema_and_the_tables_are_those_of_the_config_classes():
    remedy = "make it again: python -m workflow.experiment.schema"
    assert (FOLDER / "schema.json").read_bytes() == as_json(schema()), remedy
    assert CATALOG.read_text() == for_catalog(), remedy
    assert "$ref" not in for_catalog()
    readme = (FOLDER / "README.md").read_text()
    assert readme == documented(readme), remedy
    assert all(f"<!-- keys: {name} -->\n\n| key |" in readme for name in ("experiment", *TABLES))


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_each_file_of_the_config_names_the_schema_and_fits_it(path):
    assert path.read_text().startswith("# yaml-language-server: $schema=schema.json\n")
    VALIDATOR.validate(json.loads(json.dumps(read_yaml(path))))


@pytest.mark.parametrize(
    "overlay",
    [
        {"seed": [1]},
        {"seeds": [-1]},
        {"tasks": {"ende": {"vocabulary": "3000"}}},
        {"models": {"base": {"d_modell": 64}}},
        {"models": {"base": {"positions": "rope"}}},
        {"corpora": {"mine": {"origin": "filse"}}},
    ],
)
def test_an_editor_marks_what_we_refuse(overlay):
    assert not VALIDATOR.is_valid(overlay)


def test_every_key_has_a_sentence():
    def keys(part):
        if isinstance(part, dict):
            yield from part.get("properties", {}).items()
            for inner in part.values():
                yield from keys(inner)

    assert [name for name, key in keys(schema()) if "description" not in key] == []

"""The JSON Schema of the files of config/, with which editors complete and check them, and the README's tables of keys.

`python -m workflow.experiment.schema` writes them again, and the schema once more for Snakemake's workflow catalog.
"""

import argparse
import json
import re
import sys
from collections.abc import Iterator, Mapping
from typing import Any

import yaml
from pydantic import TypeAdapter
from pydantic.json_schema import GenerateJsonSchema, JsonSchemaValue

from transformer.corpora.texts import Files
from transformer.corpora.treebank import Treebank
from transformer.model.config import ModelConfig
from transformer.support.fields import MOST
from transformer.support.files import write_json, write_text
from transformer.support.strict import plain, read_yaml
from transformer.training.config import TrainingConfig
from workflow.experiment.claims import Claim
from workflow.experiment.config import Experiment, read_experiment
from workflow.experiment.sources import OWN_FILES
from workflow.experiment.tasks import Task

FOLDER = OWN_FILES[0].parent
CATALOG = FOLDER.parent / "workflow/schemas/config.schema.yaml"  # where Snakemake's workflow catalog looks for it
SHORT = 50  # characters of a default that a table shows
TABLES: dict[str, tuple[Any, ...]] = {
    "tasks": (Task,),
    "models": (ModelConfig, TrainingConfig),
    "files": (Files,),
    "treebank": (Treebank,),
    "claims": (Claim,),
}
BOUNDS = {"exclusiveMinimum": "above", "minimum": "from", "exclusiveMaximum": "below", "maximum": "to"}
TYPES = {"boolean": "true or false", "integer": "whole number", "object": "mapping", "string": "text"}


class _Relaxed(GenerateJsonSchema):
    """Nothing is required, because another file may have it."""

    def dataclass_schema(self, schema: Any) -> JsonSchemaValue:
        relaxed = super().dataclass_schema(schema)
        relaxed.pop("required", None)
        lists = {key: each for key, each in relaxed["properties"].items() if "items" in each}
        relaxed["properties"] |= {
            f"{key}+": {"type": "array", "items": each["items"], "description": f"added to the list `{key}`"}
            for key, each in lists.items()
        }
        return relaxed

    def tagged_union_schema(self, schema: Any) -> JsonSchemaValue:
        return {"anyOf": super().tagged_union_schema(schema)["oneOf"]}  # an overlay need not say which kind it is

    def field_title_should_be_set(self, _: Any) -> bool:
        return False


def schema(config: Any = Experiment) -> dict[str, Any]:
    """The JSON Schema of a config: of a file of config/ and of an overlay, or of a part of them."""
    dialect = {"$schema": "https://json-schema.org/draft/2020-12/schema"}
    return dialect | TypeAdapter(config).json_schema(schema_generator=_Relaxed)


def resolved(part: Any, definitions: Mapping[str, Any]) -> Any:
    """A part of a schema with its definitions in the places that name them, as tools need it that follow no `$ref`."""
    if isinstance(part, list):
        return [resolved(each, definitions) for each in part]
    if not isinstance(part, dict):
        return part
    named = definitions[part["$ref"].rpartition("/")[2]] if "$ref" in part else {}
    return {key: resolved(each, definitions) for key, each in {**named, **part}.items() if key not in ("$ref", "$defs")}


def for_catalog() -> str:
    """The schema without references, as YAML."""
    whole = schema()
    return yaml.safe_dump(resolved(whole, whole["$defs"]), sort_keys=False, width=120)


def documented(readme: str) -> str:
    """A README with its tables of keys made again. Each stands below a line `<!-- keys: NAME -->`."""

    def table(match: re.Match[str]) -> str:
        base = read_yaml(FOLDER / "models.yaml")["models"]["base"] if match[2] == "models" else {}
        schemas = map(schema, TABLES.get(match[2], ()))
        rows = [row for each in schemas for row in _keys(each, each.get("$defs", {}), base)] or [*_in_quick()]
        heading = "| key | values | default | meaning |\n" if match[2] in TABLES else "| key | default | meaning |\n"
        line = f"|{'---|' * (heading.count('|') - 1)}\n"
        return f"{match[1]}\n{heading}{line}" + "".join(f"| {' | '.join(row)} |\n" for row in rows) + "\n"

    return re.sub(r"(<!-- keys: (\w+) -->\n)(?:\n|\|.*\n)*", table, readme)


def _in_quick() -> Iterator[tuple[str, str, str]]:
    """The keys of an experiment, with the values that `quick` has, or the files in which these stand."""
    quick = plain(read_experiment([]))
    for key, each in schema()["properties"].items():
        if key in quick:
            value = json.dumps(quick[key]).strip('"')
            file = next((file.name for file in OWN_FILES if key in read_yaml(file)), "")
            yield f"`{key}`", f"`{value if len(value) <= SHORT else file}`", each["description"]


def _keys(
    config: JsonSchemaValue, others: Mapping[str, Any], defaults: Mapping[str, Any], prefix: str = ""
) -> Iterator[tuple[str, ...]]:
    """The rows of a config, with those of the configs in it, whose schemas are `others`."""
    for key, each in config["properties"].items():
        names = [part["$ref"].rpartition("/")[2] for part in (each, *each.get("anyOf", ())) if "$ref" in part]
        if names:
            yield from _keys(others[names[0]], others, {}, f"{prefix}{key}.")
        elif not key.endswith("+"):
            default = json.dumps(defaults.get(key, each.get("default", ""))).strip('"')
            yield f"`{prefix}{key}`", _values(each), default and f"`{default}`", each["description"]


def _values(value: JsonSchemaValue) -> str:
    if "anyOf" in value:
        return " or ".join(map(_values, value["anyOf"]))
    if choices := value.get("enum", [value["const"]] if "const" in value else []):
        return ", ".join(f"`{each}`" for each in choices)
    if pair := value.get("prefixItems"):
        return f"[{', '.join(map(_values, pair))}]"
    if "items" in value:
        return f"list: {_values(value['items'])}"
    bounds = [f" {word} {value[bound]:,}" for bound, word in BOUNDS.items() if value.get(bound, MOST) < MOST]
    return str(TYPES.get(value["type"], value["type"])) + "".join(bounds).replace(".0", "")


if __name__ == "__main__":
    argparse.ArgumentParser(prog="python -m workflow.experiment.schema", description=__doc__).parse_args()
    if sys.flags.optimize > 1:
        sys.exit("error: PYTHONOPTIMIZE=2 drops docstrings, which the schema contains; unset it")
    write_json(FOLDER / "schema.json", schema())
    write_text(CATALOG, for_catalog())
    write_text(FOLDER / "README.md", documented((FOLDER / "README.md").read_text(encoding="utf-8")))

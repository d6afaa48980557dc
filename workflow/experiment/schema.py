"""The JSON Schema of the files of config/, with which editors complete and check them, and the README's tables of keys.

`python -m workflow.experiment.schema` writes both again.
"""

import argparse
import json
import re
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import yaml
from pydantic import TypeAdapter
from pydantic.json_schema import GenerateJsonSchema, JsonSchemaValue

from transformer.corpora.texts import Files
from transformer.corpora.treebank import Treebank
from transformer.model.config import ModelConfig
from transformer.support.files import write_json, write_lines
from transformer.support.strict import plain, read_yaml
from transformer.training.config import TrainingConfig
from workflow.experiment.claims import Claim
from workflow.experiment.config import Experiment, read_experiment
from workflow.experiment.sources import OWN_FILES
from workflow.experiment.tasks import Task

FOLDER = OWN_FILES[0].parent
SHORT = 50  # characters of a default that a table shows
TABLES: dict[str, tuple[Any, ...]] = {
    "tasks": (Task,),
    "models": (ModelConfig, TrainingConfig),
    "files": (Files,),
    "treebank": (Treebank,),
    "claims": (Claim,),
}
BOUNDS = {"exclusiveMinimum": "above", "minimum": "from", "exclusiveMaximum": "below", "maximum": "to"}
TYPES = {
    "boolean": "true or false",
    "integer": "whole number",
    "null": "null",
    "number": "number",
    "object": "mapping",
    "string": "text",
}


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


def tables() -> dict[str, str]:
    """The tables of keys in config/README.md, by name."""
    quick, base = plain(read_experiment([])), read_yaml(FOLDER / "models.yaml")["models"]["base"]
    own = schema()["properties"].items()
    keys = [(key, _in_quick(key, quick[key]), each["description"]) for key, each in own if key in quick]
    made = {"experiment": _table(("key", "default", "meaning"), keys)}
    for name, configs in TABLES.items():
        schemas = [schema(config) for config in configs]
        defaults = base if name == "models" else {}
        rows = [row for each in schemas for row in _keys(each, each.get("$defs", {}), defaults)]
        made[name] = _table(("key", "values", "default", "meaning"), rows)
    return made


def _table(heading: Sequence[str], keys: Iterable[Sequence[str]]) -> str:
    rows = [heading, *((f"`{key}`", *others) for key, *others in keys)]
    first, *others = [f"| {' | '.join(row)} |\n" for row in rows]
    return "".join([first, f"|{'---|' * len(heading)}\n", *others])


def _in_quick(key: str, value: Any) -> str:
    """The value that `quick` has, or the file in which it stands."""
    text = yaml.safe_dump([value], default_flow_style=True, sort_keys=False, width=1000).strip()[1:-1]
    return f"`{text if len(text) <= SHORT else next(file.name for file in OWN_FILES if key in read_yaml(file))}`"


def _keys(
    config: JsonSchemaValue, others: Mapping[str, Any], defaults: Mapping[str, Any], prefix: str = ""
) -> Iterator[tuple[str, ...]]:
    """The rows of a config, with those of the configs in it, whose schemas are `others`."""
    for key, each in config["properties"].items():
        if key.endswith("+"):
            continue
        names = [part["$ref"].rpartition("/")[2] for part in (each, *each.get("anyOf", ())) if "$ref" in part]
        if names:
            yield from _keys(others[names[0]], others, {}, f"{prefix}{key}.")
        else:
            default = json.dumps(defaults.get(key, each.get("default", ""))).strip('"')
            yield f"{prefix}{key}", _values(each), default and f"`{default}`", each["description"]


def _values(value: JsonSchemaValue) -> str:
    if "anyOf" in value:
        return " or ".join(map(_values, value["anyOf"]))
    if choices := value.get("enum", [value["const"]] if "const" in value else []):
        return ", ".join(f"`{each}`" for each in choices)
    if pair := value.get("prefixItems"):
        return f"list of {len(pair)} {_several(pair[0])}"
    if "items" in value:
        return f"list of {_several(value['items'])}"
    bounds = [f" {word} {value[bound]:,}".removesuffix(".0") for bound, word in BOUNDS.items() if bound in value]
    return TYPES[value["type"]] + "".join(bounds)


def _several(value: JsonSchemaValue) -> str:
    return re.sub("^(text|whole number|number|mapping)", r"\1s", _values(value))


def documented(readme: str) -> str:
    """A README with its tables of keys made again. Each stands below a line `<!-- keys: NAME -->`."""
    made = tables()
    mark = re.compile(rf"(<!-- keys: ({'|'.join(made)}) -->\n)(?:\n|\|.*\n)*")
    return mark.sub(lambda match: f"{match[1]}\n{made[match[2]]}\n", readme)


if __name__ == "__main__":
    argparse.ArgumentParser(prog="python -m workflow.experiment.schema", description=__doc__).parse_args()
    if sys.flags.optimize > 1:
        sys.exit("error: PYTHONOPTIMIZE=2 drops docstrings, which the schema contains; unset it")
    write_json(FOLDER / "schema.json", schema())
    readme = FOLDER / "README.md"
    write_lines(readme, documented(readme.read_text(encoding="utf-8")).splitlines())

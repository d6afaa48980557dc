"""Read YAML into configs, strictly: one error lists every fault, each with the file and the line of its value."""

import copy
import dataclasses
import difflib
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import yaml

from transformer.support.faults import MISSING, ConfigError, Fault, Keys, SafeLoader, shown, unknown, with_source
from transformer.support.files import InputError, read_lines, write_text

if TYPE_CHECKING:
    from pydantic import TypeAdapter
    from pydantic_core import ErrorDetails

T = TypeVar("T")
GREATEST_SEED = 2**63 - 1  # that PyTorch accepts
GREATEST_ALPHA = 10  # of a length penalty
TAG = "tag:yaml.org,2002:"
# What all readers of YAML read alike. Others see numbers, dates or booleans in 0100, 1:40 and no, or see none.
ALIKE = re.compile(
    r"[-+]?(0|[1-9]\d*)|[-+]?(\d+\.\d*|\.\d+)(e[-+]?\d+)?|[-+]?\.inf|\.nan|true|false|null|~|", re.IGNORECASE
)


class _Doubt(yaml.MarkedYAMLError):
    """A word that others may read differently."""


class _Loader(SafeLoader):
    """Raises _Doubt, and ConstructorError for a key that comes twice."""

    def __init__(self, text: str):
        super().__init__(text)
        self.deep_construct = True  # or else a mapping may contain itself

    def construct_object(self, node: yaml.Node, deep: bool = False) -> Any:
        if isinstance(node, yaml.ScalarNode) and node.tag != f"{TAG}str" and not ALIKE.fullmatch(node.value):
            text = f"readers of YAML disagree about {node.value}; write '{node.value}' in quotes for the text"
            raise _Doubt(problem=f"{text}, or a plain number, true or false", problem_mark=node.start_mark)
        return super().construct_object(node, deep)

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> Any:
        seen = set()
        for key in (key for key, _ in node.value if isinstance(key, yaml.ScalarNode) and key.tag != f"{TAG}merge"):
            if key.tag != f"{TAG}str" and not re.fullmatch(r"0|[1-9]\d*", key.value):
                text = f"the key {key.value} is not read as a text; write '{key.value}' in quotes"
                raise _Doubt(problem=text, problem_mark=key.start_mark)
            if key.value in seen:
                raise yaml.constructor.ConstructorError(None, None, f"{key.value} comes twice", key.start_mark)
            seen.add(key.value)
        return super().construct_mapping(node, deep)


def read_yaml(path: Path) -> Any:
    """The content of a YAML file. Raises InputError if it cannot be read or is not UTF-8, and like `parse_yaml`."""
    return parse_yaml("\n".join(read_lines(path)), str(path))


def parse_yaml(text: str, name: str) -> Any:
    """The value that is written as YAML in `text`, which comes from `name`.

    Raises InputError that names the line if it is not YAML or repeats a key, and ConfigError for a word that YAML 1.1
    and YAML 1.2 read differently: Snakemake reads YAML 1.1.
    """
    try:
        return copy.deepcopy(_value(text))
    except (yaml.YAMLError, ValueError, LookupError, RecursionError) as error:
        mark = getattr(error, "problem_mark", None)
        message = " ".join(str(getattr(error, "problem", None) or error).split())
        place = f"{name}, line {mark.line + 1}" if mark else name
        if isinstance(error, _Doubt):
            raise ConfigError("", [Fault((), message, place)]) from error
        raise InputError(f"{place}: not YAML: {message}") from error


@cache
def _value(text: str) -> Any:  # Snakemake has the same files read three times
    return yaml.load(text, _Loader)


def read_keys(path: Path) -> dict[Any, Any]:
    """The mapping in a YAML file. Raises InputError if the file holds anything else, and like `read_yaml`."""
    values = read_yaml(path)
    if not isinstance(values, dict):
        raise InputError(f"{path}: has no keys; write lines such as `key: value`")
    return values


def load(cls: type[T], values: Any, where: str = "") -> T:
    """A config from a mapping. Raises ConfigError, which lists every fault.

    Values have the types of JSON, so a list becomes a tuple, and a date is a text.
    """
    from pydantic import ValidationError  # slow to import, and some commands load no config

    text = json.dumps(values, default=str)
    try:
        return _adapter(cls).validate_json(text)  # type: ignore[arg-type]
    except ValidationError as error:
        errors = error.errors(include_url=False)
        # A list without its faulty values may be too short; that only follows from them.
        first = [each for each in errors if each["type"] != "too_short" or not each["input"]]
        raise ConfigError(where, [_fault(each, cls, json.loads(text)) for each in first]) from None


@cache
def _adapter(cls: Any) -> "TypeAdapter[Any]":
    from pydantic import TypeAdapter

    return TypeAdapter(cls)


def _fault(error: "ErrorDetails", cls: Any, values: Any) -> Fault:
    """The fault that an error of pydantic reports, in its words, with the value or a similar name."""
    place, value, context = error["loc"], error["input"], error.get("ctx", {})
    keys, text = _keys(place, values), error["msg"].removeprefix("Value error, ")
    match error["type"]:
        case "fault":  # of a check
            first, *others = context["keys"]
            owner = _keys(place[: -len(first)], values)
            return Fault((*owner, *first), context["text"], others=tuple((*owner, *each) for each in others))
        case "value_error":
            return Fault(keys, text)
        case "missing":
            return Fault((*_keys(place[:-1], values), place[-1]), MISSING)
        case "union_tag_not_found":
            return Fault((*keys, context["discriminator"].strip("'")), MISSING)
        case "unexpected_keyword_argument" | "extra_forbidden":
            return Fault(keys, unknown(str(keys[-1]), _known(cls, place[:-1]), "key"))
    names = re.findall("'([^']+)'", str(context.get("expected") or context.get("expected_tags")))
    close = difflib.get_close_matches(str(context.get("tag", value)), names, n=1)
    return Fault(keys, f"{text} (got {shown(value)})" + (f"; did you mean {close[0]}?" if close else ""))


def _keys(place: Sequence[int | str], values: Any) -> Keys:
    """The keys that lead to a place of pydantic's, which has further parts for the kind of a union and a faulty key."""
    keys = []
    for part in place:
        known = values if isinstance(values, dict) else range(len(values)) if isinstance(values, list) else ()
        if part in known:
            keys.append(part)
            values = values[part]
    return tuple(keys)


def _known(cls: Any, place: Sequence[int | str]) -> list[str]:
    """The keys that a mapping at a place of pydantic's may have."""
    schema = _adapter(cls).json_schema()

    def resolved(node: Any) -> Any:
        while "$ref" in node or "anyOf" in node:
            several = (each for each in node.get("anyOf", ()) if each.get("type") != "null")
            node = schema["$defs"][node["$ref"].rpartition("/")[2]] if "$ref" in node else next(several)
        return node

    node = resolved(schema)
    for part in place:
        kinds = node.get("discriminator", {}).get("mapping", {})
        inner = {"$ref": kinds[part]} if part in kinds else node.get("properties", {}).get(part)
        node = resolved(inner or node.get("additionalProperties") or node["items"])
    return list(node["properties"])


def load_sources(cls: type[T], values: Any, sources: Mapping[str, Any]) -> T:
    """A config from `values`, which are the `sources` merged. Files among the sources are named by their paths.

    Raises ConfigError; each of its faults begins with the source and, if that is a file, with the line of its value.
    """
    try:
        return load(cls, added_up(values))
    except ConfigError as error:
        raise located(error, sources) from None


def located(error: ConfigError, sources: Mapping[str, Any]) -> ConfigError:
    """The error of a config that is merged from `sources`, with the source and the line of each fault."""
    return ConfigError("", [with_source(fault, sources) for fault in error.faults])


def read_config(cls: type[T], path: Path) -> T:
    """A config from a YAML file. Raises the errors of `load_sources` and `read_keys`."""
    values = read_keys(path)
    return load_sources(cls, values, {str(path): values})


def merge(values: dict[str, Any], overlay: Mapping[str, Any]) -> None:
    """Merge `overlay` into `values`, in place. Mappings are merged key by key; any other value is replaced.

    A list KEY+ has the values of all sources that have one; `added_up` adds them to the list KEY.

    Mappings are copied, except in lists. Otherwise two keys that share one by a YAML alias would both change if one is
    overridden.
    """
    for key, value in overlay.items():
        if isinstance(value, Mapping):
            if not isinstance(values.get(key), dict):
                values[key] = {}
            merge(values[key], value)
        elif _adds(key) and isinstance(value, list) and isinstance(values.get(key), list):
            values[key] = union(values[key], value)
        else:
            values[key] = value


def merged(sources: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    """All sources in one; later ones override earlier ones (`merge`)."""
    values: dict[str, Any] = {}
    for source in sources:
        merge(values, source)
    return values


def union(one: Sequence[Any], other: Sequence[Any]) -> list[Any]:
    """The values of both lists. Those of `other` that `one` has, too, are left out."""
    return [*one, *(each for each in other if each not in one)]


def _adds(key: Any) -> bool:
    return str(key).endswith("+")


def added_up(values: Any, keys: Keys = ()) -> Any:
    """`values`, which are at `keys`, with each list KEY+ added to the list KEY (`union`), which may be missing.

    Raises ConfigError if one of the two is not a list. A mapping is no fault: its name may end in +.
    """
    if not isinstance(values, Mapping):
        return values
    lists = {key: each for key, each in values.items() if _adds(key) and not isinstance(each, Mapping)}
    whole = {key: added_up(each, (*keys, key)) for key, each in values.items() if key not in lists}
    for key, more in lists.items():
        given = whole.get(key[:-1], [])
        if not (isinstance(given, list) and isinstance(more, list)):
            text = f"{shown(more)} cannot be added to {key[:-1]}; both must be lists"
            raise ConfigError("", [Fault((*keys, key), text)])
        whole[key[:-1]] = union(given, more)
    return whole


def write_config(path: Path, config: Any) -> None:
    """Write a config as YAML that `read_config` reads. Raises the InputErrors of `atomic`."""
    write_text(path, as_yaml(plain(config)))


def as_yaml(values: Any) -> str:
    """`values` as YAML that `parse_yaml` reads."""
    return yaml.safe_dump(values, sort_keys=False, allow_unicode=True)


def added(default: T, description: str) -> T:
    """A field that was added later. `plain` leaves it out at its default, so configs written before are still equal."""
    return dataclasses.field(default=default, metadata={"added": True, "description": description})


def plain(value: Any) -> Any:
    """A config, with all that it contains, as dicts, lists, numbers and strings."""
    if dataclasses.is_dataclass(value):
        given = {f: getattr(value, f.name) for f in dataclasses.fields(value)}
        return {f.name: plain(v) for f, v in given.items() if not ("added" in f.metadata and v == f.default)}
    if isinstance(value, Mapping):
        return {key: plain(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [plain(inner) for inner in value]
    return str(value) if isinstance(value, Fraction) else value


def listed(values: Mapping[str, Any]) -> str:
    """A mapping as text, `name value, name value`, with inner mappings in parentheses. Values of None are left out."""
    shown = {name: f"({listed(value)})" if isinstance(value, Mapping) else value for name, value in values.items()}
    return ", ".join(f"{name} {value}" for name, value in shown.items() if value is not None)

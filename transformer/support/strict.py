"""Read YAML into configs, strictly: one error lists every fault, each with the file and the line of its value."""

import copy
import dataclasses
import json
from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from functools import cache
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import yaml

from transformer.support.faults import ConfigError, Fault, Keys, fault_of, not_a_list, shown_twice, with_source
from transformer.support.files import InputError, read_lines, write_text
from transformer.support.yaml_words import Dumper, Loader

if TYPE_CHECKING:
    from pydantic import TypeAdapter

T = TypeVar("T")
GREATEST_SEED = 2**63 - 1  # that PyTorch accepts
GREATEST_ALPHA = 10  # of a length penalty
MOST_PARTS = 10**6  # values, keys and signs between them of a YAML file; with aliases of aliases, a few lines have 10^9


def read_yaml(path: Path) -> Any:
    """The content of a YAML file.

    Raises InputError that names the line if a line is not UTF-8, is not YAML, or repeats a key, and if the file cannot
    be read, or a mapping or a list contains itself. Also raises the errors of `parse_yaml`.
    """
    return parse_yaml("\n".join(read_lines(path)), str(path))


def parse_yaml(text: str, name: str) -> Any:
    """The value that is written as YAML in `text`, which comes from `name`. Raises the errors of `read_yaml`.

    Raises ConfigError that lists all values that YAML 1.1 and YAML 1.2 read differently: Snakemake reads YAML 1.1.
    """
    try:
        value, doubts = _value(text)
    except yaml.reader.ReaderError as error:  # it tells the position, not the line
        line = text.count("\n", 0, error.position) + 1
        raise InputError(f"{name}, line {line}: U+{error.character:04X} is no character of YAML; remove it") from error
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        message = " ".join(str(error).replace('in "<byte string>", ', "").split())
        message += "; write blanks instead of tabs" if r"'\t'" in message else ""
        raise InputError(f"{name}: not YAML: {message}") from error
    if doubts:
        raise ConfigError("", [Fault((), doubt, f"{name}, line {line}") for line, doubt in doubts])
    return copy.deepcopy(value)


@cache
def _value(text: str) -> tuple[Any, list[tuple[int, str]]]:
    """The value, and its doubts (`Loader`). Snakemake has the same files read three times, and PyYAML is slow."""
    loader = Loader(text.encode())
    try:
        value = loader.get_single_data()
    finally:
        loader.dispose()
    written = json.JSONEncoder().iterencode(value)
    if any(islice(written, MOST_PARTS, None)):
        raise ValueError(f"its aliases (*NAME) repeat so much that it has more than {MOST_PARTS:,} parts; use fewer")
    return value, loader.doubts


def read_keys(path: Path) -> dict[Any, Any]:
    """The mapping in a YAML file. Raises InputError if the file holds anything else, and like `read_yaml`."""
    values = read_yaml(path)
    if not isinstance(values, dict):
        raise InputError(f"{path}: has no keys; write lines such as `key: value`")
    return values


def load(cls: type[T], values: Any, where: str = "", written: Any = None) -> T:
    """A config from a mapping. Raises ConfigError, which lists every fault.

    Values have the types of JSON, so a list becomes a tuple, and a date is a text. Validators see the values as they
    are `written`, by default `values`.
    """
    from pydantic import ValidationError  # slow to import, and some commands load no config

    text = json.dumps(values, default=str)
    try:
        return _adapter(cls).validate_json(text, context=written or values)  # type: ignore[arg-type]
    except ValidationError as error:
        values = json.loads(text)
        faults = [fault_of(each, cls, values) for each in error.errors(include_url=False)]
        raise ConfigError(where, list(filter(None, faults))) from None


@cache
def _adapter(cls: Any) -> "TypeAdapter[Any]":
    from pydantic import TypeAdapter

    return TypeAdapter(cls)


def load_sources(cls: type[T], values: Any, sources: Mapping[str, Any]) -> T:
    """A config from `values`, which are the `sources` merged. Files among the sources are named by their paths.

    Raises ConfigError; each of its faults begins with the source and, if that is a file, with the line of its value.
    """
    try:
        return load(cls, added_up(values), written=values)
    except ConfigError as error:
        raise located(error, sources) from None


def located(error: ConfigError, sources: Mapping[str, Any]) -> ConfigError:
    """The error of a config that is merged from `sources`, with the source and the line of each fault."""
    values = merged(sources.values())
    faults = [fault._replace(keys=_as_written(fault.keys, values)) for fault in error.faults]
    return ConfigError("", [with_source(fault, sources) for fault in faults])


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


def added_up(values: Any) -> Any:
    """`values` with each list KEY+ added to the list KEY (`union`), which may be missing.

    Raises ConfigError that lists each KEY+ that is not a list or has a value twice, each whose KEY is not a list, and
    each key that is a number. A mapping is no fault: its name may end in +.
    """
    faults: list[Fault] = []
    summed = _added_up(values, (), faults)
    if faults:
        raise ConfigError("", faults)
    return summed


def _added_up(values: Any, place: Keys, faults: list[Fault]) -> Any:
    if not isinstance(values, Mapping):
        return values
    summed: dict[Any, Any] = {}
    for key, value in values.items():
        if not isinstance(key, str):
            faults.append(Fault((*place, str(key)), f"the key {key} is read as a number; write '{key}' in quotes"))
        if not _adds(key) or isinstance(value, Mapping):
            summed.setdefault(key, _added_up(value, (*place, key), faults))
            continue
        name = key[:-1]
        given = values.get(name, [])
        if not isinstance(value, list):
            faults.append(Fault((*place, key), not_a_list(value)))
        elif not isinstance(given, list):
            text = f"{name} has no list to which this could be added; write {name} without +"
            faults.append(Fault((*place, key), text))
        elif twice := shown_twice(value):
            faults.append(Fault((*place, key), twice))
        else:
            summed[name] = union(given, value)
    return summed


def _as_written(keys: Keys, values: Any) -> Keys:
    """The keys of a value in `values`. Given are its keys in `added_up(values)`."""
    if not keys or not isinstance(values, Mapping):
        return keys
    first, *rest = keys
    given, added = values.get(first, []), values.get(f"{first}+")
    if isinstance(added, list) and isinstance(given, list):
        if first not in values:
            return (f"{first}+", *rest)
        if rest and isinstance(rest[0], int) and rest[0] >= len(given):
            new = [place for place, each in enumerate(added) if each not in given]
            return (f"{first}+", new[rest[0] - len(given)], *rest[1:])
    return (first, *_as_written(tuple(rest), given))


def write_config(path: Path, config: Any) -> None:
    """Write a config as YAML that `read_config` reads. Raises the InputErrors of `atomic`."""
    write_text(path, as_yaml(plain(config)))


def as_yaml(values: Any) -> str:
    """`values` as YAML that `parse_yaml` reads."""
    return yaml.dump(values, Dumper=Dumper, sort_keys=False, allow_unicode=True)


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

"""Read YAML into frozen dataclasses, strictly: one error lists every fault."""

import contextlib
import copy
import dataclasses
import difflib
import json
import math
import types
from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from functools import cache
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

import yaml

from transformer.support.files import InputError, atomic, read_lines

T = TypeVar("T")
_BROKEN = object()  # stands for a value that is at fault
GREATEST_SEED = 2**63 - 1
GREATEST_ALPHA = 10  # of a length penalty
A_MAPPING = "a mapping; write keys with values, as {key: value}"


class ConfigError(InputError):
    """All faults of a config, one a line. `where` names the config; it is empty if each fault names its own config."""

    def __init__(self, where: str, faults: list[str]):
        told = [f"the config has {len(faults)} faults:", *faults] if faults[1:] else faults
        super().__init__((f"{where}: " if where else "") + "\n  ".join(told))
        self.faults = faults


def load(cls: type[T], values: Any, where: str) -> T:
    """Fill a dataclass, and the dataclasses in it, from a mapping.

    Raises a ConfigError that lists every key that is unknown or missing, and every value of a wrong type or size.
    """
    faults: list[str] = []
    result = fill(cls, values, "", faults)
    if faults:
        raise ConfigError(where, faults)
    return result


class _Loader(yaml.SafeLoader):
    """Refuses a mapping in which a key comes twice."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        seen = set()
        for key in (key for key, _ in node.value if key.tag != "tag:yaml.org,2002:merge"):
            if isinstance(key, yaml.ScalarNode):
                if key.value in seen:
                    raise yaml.constructor.ConstructorError(None, None, f"{key.value} comes twice", key.start_mark)
                seen.add(key.value)
        return super().construct_mapping(node, deep)


def read_yaml(path: Path) -> Any:
    """The content of a YAML file.

    Raises InputError that names the line if a line is not UTF-8, is not YAML, or repeats a key. Also raises InputError
    if a mapping or a list contains itself.
    """
    text = "\n".join(read_lines(path))
    try:
        return copy.deepcopy(_value(text))
    # PyYAML raises the others for values such as the date 2001-99-99, `!!bool maybe` and `!!int ''`.
    except (yaml.YAMLError, ValueError, LookupError, AttributeError, RecursionError) as error:
        message = " ".join(str(error).replace('in "<byte string>", ', "").split())
        raise InputError(f"{path}: not YAML: {message}") from error


@cache
def _value(text: str) -> Any:
    """The value that is written as YAML. Snakemake has the same files read three times, and PyYAML is slow."""
    value = yaml.load(text.encode(), _Loader)
    json.dumps(value, default=str, skipkeys=True)  # refuses a mapping that contains itself
    return value


def read_keys(path: Path) -> dict[Any, Any]:
    """The mapping in a YAML file. Raises InputError if the file holds anything else, and like `read_yaml`."""
    values = read_yaml(path)
    if not isinstance(values, dict):
        raise InputError(f"{path}: has no keys; write lines such as `key: value`")
    return values


def read_config(cls: type[T], path: Path) -> T:
    """Fill a dataclass from a YAML file. Raises the ConfigErrors of `load` and the InputErrors of `read_keys`."""
    return load(cls, read_keys(path), str(path))


def merge(values: dict[str, Any], overlay: Mapping[str, Any]) -> None:
    """Merge `overlay` into `values`, in place. Mappings are merged key by key; any other value is replaced.

    Mappings are copied, except in lists. Otherwise two keys that share one by a YAML alias would both change if one is
    overridden.
    """
    for key, value in overlay.items():
        if isinstance(value, Mapping):
            if not isinstance(values.get(key), dict):
                values[key] = {}
            merge(values[key], value)
        else:
            values[key] = value


def write_config(path: Path, config: Any) -> None:
    """Write a dataclass as YAML that `read_config` reads."""
    with atomic(path) as stream:
        stream.write(yaml.safe_dump(plain(config), sort_keys=False, allow_unicode=True).encode())


def added(default: T) -> T:
    """A field that was added later. `plain` leaves it out at its default, so configs written before are still equal."""
    return dataclasses.field(default=default, metadata={"added": True})


def plain(value: Any) -> Any:
    """A dataclass, with all that it contains, as dicts, lists, numbers and strings."""
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


def unknown(name: str, known: Iterable[str], noun: str) -> str:
    """The fault that `name` is not among `known`. It suggests a similar known name, or lists all of them."""
    close = difflib.get_close_matches(str(name), list(known), n=1)
    hint = f"did you mean {close[0]}?" if close else "known: " + ", ".join(known)
    return f"unknown {noun} {name}; {hint}"


def not_positive(config: Any, *names: str) -> list[str]:
    """A fault for each of the named values that is infinite or not above 0."""
    values = {name: getattr(config, name) for name in names}
    found = [f"{name}: {value} is not positive" for name, value in values.items() if not value > 0]
    return found + [f"{name}: {value} is not finite" for name, value in values.items() if value == math.inf]


def not_a_seed(name: str, seed: int) -> list[str]:
    """A fault if PyTorch does not accept `seed`."""
    if seed < 0:
        return [f"{name}: {seed} is negative"]
    return [f"{name}: {seed} is too large for a seed; give at most {GREATEST_SEED}"] if seed > GREATEST_SEED else []


def repeated(name: str, values: Sequence[Any]) -> list[str]:
    """A fault for each value that comes more than once."""
    return [f"{name}: {value} comes twice; name it once" for value in dict.fromkeys(values) if values.count(value) > 1]


def not_a_range(name: str, values: tuple[int, int]) -> list[str]:
    """A fault if `values` is not (least, most) with 1 <= least <= most."""
    least, most = values
    return [] if 1 <= least <= most else [f"{name}: {list(values)} is not a range; write [least, most], from 1 upwards"]


def fill(cls: Any, values: Any, where: str, faults: list[str]) -> Any:
    """Fill dataclass `cls` from `values`, and add what is wrong to `faults`. Do not use the result if there are any."""
    prefix = f"{where}." if where else ""
    if not isinstance(values, Mapping):
        faults.append(f"{where or 'config'}: {values!r} is not {A_MAPPING}")
        return _BROKEN
    hints = get_type_hints(cls, include_extras=True)
    keys = {key.name: key for key in dataclasses.fields(cls)}
    faults += [f"{prefix}{name}: " + unknown(name, keys, "key") for name in values if name not in keys]
    arguments = {}
    for name, key in keys.items():
        if name in values:
            arguments[name] = _convert(hints[name], values[name], prefix + name, faults)
        elif key.default is dataclasses.MISSING and key.default_factory is dataclasses.MISSING:
            faults.append(f"{prefix}{name}: missing")
            arguments[name] = _BROKEN
    if _BROKEN in arguments.values():
        return _BROKEN
    instance = cls(**arguments)
    if hasattr(instance, "faults"):
        faults.extend(prefix + fault for fault in instance.faults())
    return instance


def _tagged(kinds: list[Any], value: Any, where: str, faults: list[str]) -> Any:
    """One of several dataclasses. The literal of their first field says which one."""
    if not isinstance(value, Mapping):
        faults.append(f"{where}: {value!r} is not {A_MAPPING}")
        return _BROKEN
    tag = dataclasses.fields(kinds[0])[0].name
    by_tag = {get_args(get_type_hints(kind)[tag])[0]: kind for kind in kinds}
    found = value.get(tag)
    if not isinstance(found, str) or found not in by_tag:
        faults.append(f"{where}.{tag}: {found!r} is not one of {', '.join(by_tag)}")
        return _BROKEN
    return fill(by_tag[found], value, where, faults)


def _overrides(kinds: Iterable[Any], value: Any, where: str, faults: list[str]) -> Any:
    """Check a mapping of some keys of the dataclasses `kinds`, and return it unchanged."""
    if not isinstance(value, Mapping):
        faults.append(f"{where}: {value!r} is not {A_MAPPING}")
        return _BROKEN
    hints = {name: hint for kind in kinds for name, hint in get_type_hints(kind).items()}
    faults += [f"{where}.{name}: " + unknown(name, hints, "key") for name in value if name not in hints]
    checked = [_convert(hints[name], value[name], f"{where}.{name}", faults) for name in value if name in hints]
    return _BROKEN if _BROKEN in checked else dict(value)


def _convert(hint: Any, value: Any, where: str, faults: list[str]) -> Any:
    origin, inner = get_origin(hint), get_args(hint)
    if hint is Any:
        return value
    if origin is Annotated:
        return _overrides(inner[1:], value, where, faults)
    if origin in (Union, types.UnionType):
        if value is None and type(None) in inner:
            return None
        kinds = [arg for arg in inner if arg is not type(None)]
        return _convert(kinds[0], value, where, faults) if len(kinds) == 1 else _tagged(kinds, value, where, faults)
    if origin is Literal:
        if value in inner:
            return value
        expected = "one of " + ", ".join(map(str, inner))
    elif dataclasses.is_dataclass(hint):
        return fill(hint, value, where, faults)
    elif origin is dict:
        if isinstance(value, Mapping):
            mapping = {str(k): _convert(inner[1], v, f"{where}.{k}", faults) for k, v in value.items()}
            return _BROKEN if _BROKEN in mapping.values() else mapping
        expected = A_MAPPING
    elif origin is tuple:
        endless = inner[-1] is Ellipsis
        if isinstance(value, list | tuple) and (endless or len(value) == len(inner)):
            hints = inner[:1] * len(value) if endless else inner
            items = [_convert(h, v, f"{where}[{i}]", faults) for i, (h, v) in enumerate(zip(hints, value, strict=True))]
            return _BROKEN if _BROKEN in items else tuple(items)
        one = not isinstance(value, list | tuple | Mapping)
        expected = f"a list of {len(inner)}" if not endless else f"a list; write [{value if one else 'a, b'}]"
    elif hint is Fraction:
        try:
            if not isinstance(value, bool):
                return Fraction(str(value))
        except (ValueError, ZeroDivisionError):
            pass
        expected = "a number or a fraction such as 1/4"
    elif hint is float:
        with contextlib.suppress(OverflowError):  # a whole number of more than 308 digits
            if isinstance(value, int | float) and not isinstance(value, bool):
                return float(value)
        expected = "a number (write 1.0e-9, not 1e-9)" if isinstance(value, str) else "a number; write one such as 0.1"
    else:
        if isinstance(value, hint) and (hint is bool or not isinstance(value, bool)):
            return value
        expected = {
            int: "a whole number; write digits, without point or quotes",
            str: "a text; write it in quotes",
            bool: "true or false",
        }[hint]
    faults.append(f"{where}: {value!r} is not {expected}")
    return _BROKEN

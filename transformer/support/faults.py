"""Faults of configs: what pydantic's errors say, in words for a user, and the file and the line that they come from."""

import difflib
import json
import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import fields
from pathlib import Path
from types import NoneType, UnionType
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple, Union, get_args, get_origin, get_type_hints

import yaml

from transformer.support.files import InputError
from transformer.support.yaml_words import without_comma

if TYPE_CHECKING:
    from pydantic_core import ErrorDetails

Keys = tuple[str | int, ...]  # the way to a value: keys of mappings, places in lists
A_TEXT = "a text; write it in quotes"
A_MAPPING = "a mapping; write keys with values, as {{key: value}}"


class Fault(NamedTuple):
    """What is wrong with the value at `keys`, which comes from `source`. It does not fit those at `others`."""

    keys: Keys
    text: str
    source: str = ""
    others: tuple[Keys, ...] = ()

    def __str__(self) -> str:
        place = "".join(f"[{key}]" if isinstance(key, int) else f".{key}" for key in self.keys).removeprefix(".")
        return ": ".join(filter(None, (self.source, place, self.text)))


class ConfigError(InputError):
    """All faults of a config, one a line. `where` names the config; it is empty if each fault has its own source."""

    def __init__(self, where: str, faults: Sequence[Fault]):
        lines = [f"the config has {len(faults)} faults:", *faults] if faults[1:] else faults
        super().__init__((f"{where}: " if where else "") + "\n  ".join(map(str, lines)))
        self.faults = faults


# What a key is called elsewhere: in other libraries, and in the paper.
_ELSEWHERE = {
    "N": ("layers", "num_layers", "n_layers"),
    "h": ("heads", "num_heads", "n_heads", "nhead"),
    "P_drop": ("dropout", "p_drop"),
    "d_ff": ("ffn", "d_inner", "ffn_dim", "dim_feedforward"),
    "eps_ls": ("label_smoothing", "smoothing", "epsilon_ls"),
    "learning_rate": ("lr",),
    "steps": ("max_steps", "train_steps", "updates", "max_updates"),
    "warmup": ("warmup_steps", "warm_up"),
    "batch_tokens": ("batch_size", "max_tokens"),
}


def unknown(name: str, known: Iterable[str], noun: str) -> str:
    """The text that `name` is not among `known`. It suggests a similar known name, or lists all of them."""
    lower = str(name).lower()
    same = [key for key in known if lower in _ELSEWHERE.get(key, ()) or sorted(key.lower()) == sorted(lower)]
    close = same or difflib.get_close_matches(str(name), list(known), n=1)
    hint = f"did you mean {close[0]}?" if close else "known: " + ", ".join(known)
    return f"unknown {noun} {name}; {hint}"


# What a value should be, by the type of pydantic's error.
_EXPECTED = {
    "bool_type": "true or false",
    "dataclass_type": A_MAPPING,
    "dict_type": A_MAPPING,
    "finite_number": "a finite number",
    "greater_than": "above {gt}",
    "greater_than_equal": "at least {ge}",
    "int_type": "a whole number; write digits, without point or quotes",
    "less_than": "below {lt}",
    "less_than_equal": "at most {le}",
    "string_pattern_mismatch": "64 digits of 0-9 and a-f",  # only a SHA-256 has a pattern
    "string_type": A_TEXT,
    "too_long": "a list of {max_length}",
}


def fault_of(error: "ErrorDetails", cls: type, values: Any) -> Fault | None:
    """The fault that an error of pydantic reports, in our words. None if it only follows from another one."""
    place, value, context = error["loc"], error["input"], error.get("ctx", {})
    keys = _keys(place, values)
    match error["type"]:
        case "fault":
            first, *others = ((*keys[:-1], *inner) for inner in context["keys"])
            return Fault(first, context["text"], others=tuple(others))
        case "value_error":
            return Fault(keys, str(context["error"]))
        case "missing" if isinstance(place[-1], int):  # one for each value that a list lacks; we report the first
            return Fault(keys[:-1], f"{value} has too few values") if place[-1] == len(value) else None
        case "missing":
            return Fault(keys, "missing")
        case "unexpected_keyword_argument" | "extra_forbidden":
            return Fault(keys, unknown(str(keys[-1]), _known(cls, place[:-1]), "key"))
        case "literal_error":
            return Fault(keys, _not_one_of(value, context["expected"]))
        case "union_tag_not_found":
            return Fault((*keys, context["discriminator"].strip("'")), "missing")
        case "union_tag_invalid":
            tag = context["discriminator"].strip("'")
            return Fault((*keys, tag), _not_one_of(value[tag], context["expected_tags"]))
        case "too_short":
            return None if value else Fault(keys, "is empty; give at least one")
        case "tuple_type":
            return Fault(keys, not_a_list(value))
        case "float_type" | "int_type" if isinstance(value, str) and (meant := without_comma(value)):
            return Fault(keys, f"{value!r} is not a number, because it has a comma; write {meant}")
        case "float_type":
            return Fault(keys, f"{shown(value)} is not a number; write one such as 0.1")
        case kind if kind in _EXPECTED:
            return Fault(keys, f"{shown(value)} is not {_EXPECTED[kind].format(**context).removesuffix('.0')}")
    return Fault(keys, error["msg"])


def shown(value: Any) -> str:
    """A value as YAML has it, if it is null, true or false; else as Python has it."""
    return json.dumps(value) if value is None or isinstance(value, bool) else repr(value)


def shown_twice(values: Sequence[Any]) -> str:
    """The text that some of `values` come twice. Empty if none does."""
    twice = [value for place, value in enumerate(values) if values.index(value) == place and values.count(value) > 1]
    return "; ".join(f"{value} comes twice; name it once" for value in twice)


def not_a_list(value: Any) -> str:
    """The text that `value` is not a list. A mapping of texts, as a corpus has them, may be meant as one in a list."""
    if value is None or (isinstance(value, Mapping) and not all(isinstance(each, str) for each in value.values())):
        example = "[a, b]"
    else:
        numbers = isinstance(value, str) and re.fullmatch(r"\d+([,; ]+\d+)+", value)
        listed = [int(each) for each in re.findall(r"\d+", str(value))] if numbers else [value]
        example = yaml.safe_dump(listed, default_flow_style=True, width=math.inf, allow_unicode=True, sort_keys=False)
    return f"{shown(value)} is not a list; write {example.strip()}"


def _not_one_of(value: Any, expected: str) -> str:
    """The text that `value` is none of the names that stand between quotes in `expected`."""
    known = expected.split("'")[1::2]
    if str(value) in known:
        return f"{value!r} is not {A_TEXT}"
    close = difflib.get_close_matches(str(value), known, n=1)
    return f"{shown(value)} is not one of {', '.join(known)}" + (f"; did you mean {close[0]}?" if close else "")


def _keys(place: Sequence[int | str], values: Any) -> Keys:
    """The keys that lead to a place of pydantic's, which has further parts for the kind of a union and a faulty key."""
    keys: list[int | str] = []
    is_kind = False
    for part in place[:-1]:
        is_kind = not is_kind and isinstance(values, Mapping) and values.get("origin") == part
        if not is_kind:
            keys.append(part)
            values = values[part]
    return (*keys, *(part for part in place[-1:] if part != "[key]" or _inside(values, part)))


def _inside(values: Any, key: int | str) -> list[Any]:
    """A list of the value at a key of a mapping or at a place in a list; empty if there is none."""
    if isinstance(values, Mapping):
        return [value for name, value in values.items() if str(name) == key]
    return values[key : key + 1] if isinstance(values, list) and isinstance(key, int) else []


def _known(hint: Any, place: Sequence[int | str]) -> list[str]:
    """The keys that a mapping at a place of pydantic's may have, in a value of type `hint`."""
    origin, arguments = get_origin(hint), [each for each in get_args(hint) if each is not NoneType]
    if origin is Annotated and not hasattr(arguments[-1], "configs"):
        return _known(arguments[0], place)
    if origin in (Union, UnionType):
        if arguments[1:]:  # the first part of the place says which kind it is
            [hint] = [each for each in arguments if place[0] in get_args(get_type_hints(each)["origin"])]
            return _known(hint, place[1:])
        return _known(arguments[0], place)
    if origin in (dict, tuple):
        return _known(arguments[-1] if origin is dict else arguments[0], place[1:])
    configs = arguments[-1].configs if origin is Annotated else [hint]
    hints = {f.name: get_type_hints(each, include_extras=True)[f.name] for each in configs for f in fields(each)}
    return _known(hints[str(place[0])], place[1:]) if place else list(hints)


def with_source(fault: Fault, sources: Mapping[str, Any]) -> Fault:
    """The fault with its source. Of keys that do not fit together, it is at the one that is set last.

    If a key is missing below a name that only one source has, it may be that the name is misspelt.
    """
    keys = max((fault.keys, *fault.others), key=lambda keys: _found(keys, sources))
    text = fault.text
    if text == "missing" and len(keys) > 2:
        named = [str(name) for values in sources.values() for inner in _inside(values, keys[0]) for name in inner or ()]
        close = difflib.get_close_matches(str(keys[1]), {*named} - {str(keys[1])}, n=1, cutoff=0.7)
        if close and named.count(str(keys[1])) == 1:
            text += f"; or did you mean {keys[0]}.{close[0]}?"
    return fault._replace(keys=keys, source=source_of(keys, sources), text=text)


def source_of(keys: Keys, sources: Mapping[str, Any]) -> str:
    """The source that has the most of the keys, with the line of the last of these keys if it is a file.

    Among equals it is the last one, because its value overrides the others.
    """
    depth, number = _found(keys, sources)
    name = list(sources)[number]
    line = _line(Path(name), keys[:depth]) if Path(name).is_file() else 0
    return f"{name}, line {line}" if line else name


def _found(keys: Keys, sources: Mapping[str, Any]) -> tuple[int, int]:
    """How many of the keys the sources have at most, and the number of the last source that has so many."""
    return max((_depth(keys, values), number) for number, values in enumerate(sources.values()))


def _depth(keys: Keys, values: Any) -> int:
    """How many of the keys lead to a value."""
    inside = _inside(values, keys[0]) if keys else []
    return 1 + _depth(keys[1:], inside[0]) if inside else 0


def _line(path: Path, keys: Keys) -> int:
    """The line of the last of the keys in a YAML file; 0 without keys."""
    node: Any = yaml.compose(path.read_text(encoding="utf-8"))
    line = 0
    for key in keys:
        items = ((each, each) for each in node.value) if isinstance(node, yaml.SequenceNode) else _pairs(node)
        pairs = [pair for place, pair in enumerate(items) if key in (place, pair[0].value)]
        if not pairs:
            break
        name, node = pairs[0]
        line = name.start_mark.line + 1
    return line


def _pairs(mapping: yaml.MappingNode) -> Iterator[tuple[yaml.Node, yaml.Node]]:
    """The keys of a mapping with their values, and those that it merges in with <<."""
    yield from mapping.value
    for key, value in mapping.value:
        if key.tag == "tag:yaml.org,2002:merge":
            for each in value.value if isinstance(value, yaml.SequenceNode) else [value]:
                yield from _pairs(each)

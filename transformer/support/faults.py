"""Faults of configs: what is wrong with a value, and the file and the line that it comes from."""

import difflib
import json
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import yaml

from transformer.support.files import InputError

Keys = tuple[str | int, ...]  # the way to a value: keys of mappings, places in lists
MISSING = "Field required"
SafeLoader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)  # the former, seven times as fast, needs libyaml


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
    names = {alias.lower(): key for key in known for alias in (*_ELSEWHERE.get(key, ()), key)}
    swapped = [each for each in names if sorted(each) == sorted(lower)]
    close = swapped or difflib.get_close_matches(lower, names, n=1)
    hint = f"did you mean {names[close[0]]}?" if close else "known: " + ", ".join(known)
    return f"unknown {noun} {name}; {hint}"


def shown(value: Any) -> str:
    """A value as YAML has it, if it is null, true or false; else as Python has it."""
    return json.dumps(value) if value is None or isinstance(value, bool) else repr(value)


def with_source(fault: Fault, sources: Mapping[str, Any]) -> Fault:
    """The fault with its source. Of keys that do not fit together, it is at the one that is set last.

    If a key is missing below a name that only one source has, it may be that the name is misspelt.
    """
    keys = max((fault.keys, *fault.others), key=lambda keys: _last(keys, sources)[:2])
    text = fault.text
    if text == MISSING and len(keys) > 2:
        name, inner = str(keys[1]), (values.get(keys[0]) for values in sources.values())
        names = [str(each) for values in inner if isinstance(values, Mapping) for each in values]
        close = difflib.get_close_matches(name, {*names} - {name}, n=1, cutoff=0.7)
        if close and names.count(name) == 1:
            text += f"; or did you mean {keys[0]}.{close[0]}?"
    return fault._replace(keys=keys, source=source_of(keys, sources), text=text)


def source_of(keys: Keys, sources: Mapping[str, Any]) -> str:
    """The source that has the most of the keys, with the line of the last of these keys if it is a file.

    Among equals it is the last one, because its value overrides the others.
    """
    _, number, line = _last(keys, sources)
    return list(sources)[number] + (f", line {line}" if line else "")


def _last(keys: Keys, sources: Mapping[str, Any]) -> tuple[int, int, int]:
    """How many of the keys the last source of a value has, the number of this source, and the line of the last key."""
    last = 0, 0, 0
    for number, (name, values) in enumerate(sources.items()):
        is_file = Path(name).is_file()
        depth, line, overrides = _found(keys, Path(name).read_text("utf-8") if is_file else yaml.safe_dump(values))
        if overrides or depth >= last[0]:
            last = depth, number, line if is_file else 0
    return last


@cache
def _found(keys: Keys, text: str) -> tuple[int, int, bool]:
    """How many of the keys a text in YAML has, the line of the last of these, and whether it gives the whole value."""
    loader, node = _composed(text)
    depth = line = 0
    for key in keys:
        if isinstance(node, yaml.SequenceNode):
            pairs = [(str(place), each, each) for place, each in enumerate(node.value)]
        elif isinstance(node, yaml.MappingNode):
            loader.flatten_mapping(node)  # what it merges in with << comes first
            pairs = [(name.value, name, value) for name, value in node.value]
        else:
            break
        exact, added = ([each for each in pairs if each[0] == name] for name in (str(key), f"{key}+"))
        if not (exact or added):
            break
        _, name, node = (exact or added)[-1]
        depth, line = depth + 1, name.start_mark.line + 1
        if not exact:
            return depth, line, False
    return depth, line, depth > 0 and not isinstance(node, yaml.MappingNode)


@cache
def _composed(text: str) -> tuple[Any, Any]:
    loader = SafeLoader(text)
    return loader, loader.get_single_node()

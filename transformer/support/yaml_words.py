"""YAML in which nobody is misled: a loader and a dumper for which every word has one meaning.

YAML 1.1, which PyYAML and so Snakemake read, has words that YAML 1.2 or a reader understands otherwise: 0100 is 64,
1:40 is 100, and `no` is false. `Loader` reads them as YAML 1.1 and collects them as doubts. `Dumper` puts them in
quotes.
"""

import math
import re
from collections.abc import Callable
from typing import Any

import yaml

TAG = "tag:yaml.org,2002:"
INTEGER = re.compile(r"[-+]?(0|[1-9][0-9]*)")
NUMBER = re.compile(r"[-+]?([0-9]+(\.[0-9]*)?|\.[0-9]+)(e[-+]?[0-9]+)?|[-+]?\.inf|\.nan", re.IGNORECASE)
COMMAS = re.compile(r"[-+]?(?:([1-9][0-9]{0,2}(?:,[0-9]{3})+)|[0-9]+,[0-9]+)(?![^\s,}])")  # group 1: with thousands
# Numbers of YAML 1.2 that PyYAML reads as texts. Fields of numbers turn those of the second kind into numbers.
ONLY_IN_1_2 = re.compile(r"(?:0o[0-7]+|[-+]?0[0-9]+)\Z")
ONLY_TEXT_IN_1_1 = re.compile(r"[-+]?([0-9]+\.?[0-9]*|\.[0-9]+)[eE][-+]?[0-9]+|[-+]\.[0-9]+")


def without_comma(word: str) -> str:
    """What is meant by a number with commas: 8000 by 8,000, and 0.05 by 0,05. Empty for other words."""
    found = COMMAS.fullmatch(word)
    return word.replace(",", "" if found[1] else ".") if found else ""


class Loader(yaml.SafeLoader):
    """Collects `doubts`: the line of each word that others may read differently, and what to write instead.

    Raises ConstructorError if a key comes twice in a mapping.
    """

    def __init__(self, text: bytes):
        super().__init__(text)
        self.deep_construct = True  # or else a mapping may contain itself
        self.doubts: list[tuple[int, str]] = []

    def doubt(self, node: yaml.Node, text: str) -> None:
        """Add a doubt about a node."""
        self.doubts.append((node.start_mark.line + 1, text))

    def construct_object(self, node: yaml.Node, deep: bool = False) -> Any:
        """The value of a node. Raises ConstructorError, with its line, if its tag does not fit, as in `!!int ''`."""
        try:
            return super().construct_object(node, deep)
        except (ValueError, TypeError, LookupError, AttributeError) as error:
            raise yaml.constructor.ConstructorError(
                None, None, f"{node.value!r} is no {node.tag}", node.start_mark
            ) from error

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        """A mapping, whose keys must be texts or numbers such as 5."""
        self._doubt_commas(node)
        seen = set()
        for key in (key for key, _ in node.value if key.tag != TAG + "merge"):
            if isinstance(key, yaml.ScalarNode):
                if key.value in seen:
                    raise yaml.constructor.ConstructorError(None, None, f"{key.value} comes twice", key.start_mark)
                seen.add(key.value)
                if key.tag != TAG + "str" and not (key.tag == TAG + "int" and re.fullmatch("0|[1-9][0-9]*", key.value)):
                    read = KINDS.get(kind := key.tag.removeprefix(TAG), kind)
                    self.doubt(key, f"the key {key.value} is read as {read}; write '{key.value}' in quotes")
                    key.tag = TAG + "str"
        return super().construct_mapping(node, deep)

    def _doubt_commas(self, node: yaml.MappingNode) -> None:
        """Doubt each number with a comma, as in {vocabulary: 8,000}, and remove the keys that the comma makes of it."""
        kept, end = [], 0
        for key, value in node.value:
            if key.start_mark.pointer < end:  # a part of the number before
                continue
            kept.append((key, value))
            start = value.start_mark
            if node.flow_style and (found := COMMAS.match(start.buffer, start.pointer)):
                end = found.end()
                meant = without_comma(word := found[0])
                self.doubt(value, f"{key.value} is {word}, but a comma separates keys; write {meant} for the number")
        node.value = kept


class Dumper(yaml.SafeDumper):
    """Writes what `Loader` reads without doubt."""


KINDS = {"int": "a number", "float": "a number", "bool": "true or false", "timestamp": "a date", "null": "nothing"}


def _meant(word: str, value: str, read: str = "") -> str:
    """The doubt about a word that some read as `value`, or as `read` says."""
    fraction = f"{word.replace(':', '/')} for the fraction, " if word.count(":") == 1 else ""
    read = read or f"{value}{' (to the base 60)' if ':' in word else ''} in YAML 1.1"
    return f"{word} is {read}; write {fraction}{value} for the number, or '{word}' for the text"


def _integer(loader: Loader, node: yaml.ScalarNode) -> int:
    word = node.value
    if INTEGER.fullmatch(word):
        return int(word)
    if re.fullmatch("[-+]?0[0-9]+", word):
        text = _meant(word, str(int(word)), "octal in YAML 1.1 and decimal in YAML 1.2")
    elif word.startswith("0o"):
        text = _meant(word, str(int(word, 8)), "octal in YAML 1.2 only")
    else:
        text = _meant(word, str(loader.construct_yaml_int(node)))
    loader.doubt(node, text)
    return 0


def _number(loader: Loader, node: yaml.ScalarNode) -> float:
    value: float = loader.construct_yaml_float(node)
    if abs(value) == math.inf and "inf" not in node.value.lower():
        loader.doubt(node, f"{node.value} is too large for a number; write a smaller one")
        return 0.0
    if not NUMBER.fullmatch(node.value):
        loader.doubt(node, _meant(node.value, str(value)))
    return value


def _truth(loader: Loader, node: yaml.ScalarNode) -> bool:
    value: bool = loader.construct_yaml_bool(node)
    if node.value.lower() not in ("true", "false"):
        truth = str(value).lower()
        loader.doubt(node, f"{node.value} is {truth} in YAML 1.1; write '{node.value}' for the word, or {truth}")
    return value


def _date(loader: Loader, node: yaml.ScalarNode) -> str:
    """A date is a text, as it is written."""
    try:
        read = str(loader.construct_yaml_timestamp(node))
    except (ValueError, AttributeError):
        read = ""
    if read != node.value:
        loader.doubt(node, f"{node.value} is read as a date; write '{node.value}' in quotes")
    return str(node.value)


def _string(loader: Loader, node: yaml.ScalarNode) -> str:
    for letter in set(re.findall("[\0-\x08\x0e-\x1f\x7f\ud800-\udfff]", node.value)):
        loader.doubt(node, f"a text has U+{ord(letter):04X}, which is no character of a text; remove it")
    return str(node.value)


def _text(loader: Loader, node: yaml.ScalarNode) -> str:
    loader.doubt(node, f"{node.value} has a meaning of its own in YAML 1.1; write '{node.value}' in quotes")
    return str(node.value)


READERS: dict[str, Callable[[Loader, yaml.ScalarNode], Any]] = {
    "str": _string,
    "int": _integer,
    "float": _number,
    "bool": _truth,
    "timestamp": _date,
    "value": _text,
    "merge": _text,
}
for kind, reader in READERS.items():
    Loader.add_constructor(TAG + kind, reader)
for kind in ("binary", "omap", "pairs", "set"):  # which JSON does not have
    del Loader.yaml_constructors[TAG + kind]
for each in (Loader, Dumper):
    each.add_implicit_resolver(TAG + "int", ONLY_IN_1_2, list("+-0"))

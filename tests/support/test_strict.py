from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from transformer.support.files import InputError
from transformer.support.strict import ConfigError, added, load, plain, read_config, read_yaml, unknown, write_config


@dataclass(frozen=True)
class Circle:
    shape: Literal["circle"]
    radius: float


@dataclass(frozen=True)
class Square:
    shape: Literal["square"]
    side: float


@dataclass(frozen=True)
class Inner:
    size: int
    ratio: Fraction
    optional: Circle | None = None

    def faults(self):
        return [f"size: {self.size} is negative"] if self.size < 0 else []


@dataclass(frozen=True)
class Sum:
    parts: dict[str, Inner]
    total: int

    def faults(self):
        total = sum(part.size for part in self.parts.values())
        return [] if total == self.total else [f"total: {self.total} is not {total}"]


@dataclass(frozen=True)
class Outer:
    name: str
    flag: bool
    kind: Literal["auto", "manual"]
    span: tuple[int, int]
    words: tuple[str, ...]
    inner: Inner
    shapes: dict[str, Circle | Square]
    free: dict[str, Any] = field(default_factory=dict)
    number: float = 1.0


VALUES = {
    "name": "a",
    "flag": True,
    "kind": "auto",
    "span": [1, 2],
    "words": ["x", "y"],
    "inner": {"size": 3, "ratio": "1/4"},
    "shapes": {"one": {"shape": "circle", "radius": 1}, "two": {"shape": "square", "side": 2.5}},
}
OUTER = Outer(
    "a",
    True,
    "auto",
    (1, 2),
    ("x", "y"),
    Inner(3, Fraction(1, 4)),
    {"one": Circle("circle", 1.0), "two": Square("square", 2.5)},
)


def faults(**changes):
    with pytest.raises(ConfigError) as error:
        load(Outer, VALUES | changes, "here.yaml")
    return error.value.faults


def test_a_config_becomes_nested_dataclasses():
    assert load(Outer, VALUES, "") == OUTER


def test_every_fault_is_in_one_message():
    broken = {
        "nam": "a",  # so `name` is missing
        "flag": "yes",
        "kind": "automatic",
        "span": [1, 2, 3],
        "words": ["x", 1],
        "inner": {"size": True, "ratio": "a third", "optional": {"shape": "circle", "radius": "1e-9"}},
        "shapes": {"one": {"shape": "circl"}, "two": 4, "three": {"shape": ["circle"]}, "four": {"shape": "square"}},
        "free": [],
    }
    with pytest.raises(InputError) as error:
        load(Outer, broken, "here.yaml")
    assert str(error.value).splitlines() == [
        "here.yaml: the config has 14 faults:",
        "  nam: unknown key nam; did you mean name?",
        "  name: missing",
        "  flag: 'yes' is not true or false",
        "  kind: 'automatic' is not one of auto, manual",
        "  span: [1, 2, 3] is not a list of 2",
        "  words[1]: 1 is not a text; write it in quotes",
        "  inner.size: True is not a whole number; write digits, without point or quotes",
        "  inner.ratio: 'a third' is not a number or a fraction such as 1/4",
        "  inner.optional.radius: '1e-9' is not a number (write 1.0e-9, not 1e-9)",
        "  shapes.one.shape: 'circl' is not one of circle, square",
        "  shapes.two: 4 is not a mapping; write keys with values, as {key: value}",
        "  shapes.three.shape: ['circle'] is not one of circle, square",
        "  shapes.four.side: missing",
        "  free: [] is not a mapping; write keys with values, as {key: value}",
    ]


def test_impossible_values_are_reported_together_with_unknown_keys():
    assert faults(inner={"size": -1, "ratio": 1, "sise": 2}) == [
        "inner.sise: unknown key sise; did you mean size?",
        "inner.size: -1 is negative",
    ]


def test_values_that_do_not_fit_together_are_reported_if_each_has_the_right_type():
    parts = {"a": {"size": -1, "ratio": 1}, "b": {"size": 2, "ratio": 1}}
    with pytest.raises(ConfigError) as error:
        load(Sum, {"parts": parts, "total": 2, "totl": 1}, "")
    assert error.value.faults == [
        "totl: unknown key totl; did you mean total?",
        "parts.a.size: -1 is negative",
        "total: 2 is not 1",
    ]
    with pytest.raises(ConfigError) as error:
        load(Sum, {"parts": parts | {"b": {"size": "2", "ratio": 1}}, "total": 2}, "")
    assert error.value.faults == [
        "parts.a.size: -1 is negative",
        "parts.b.size: '2' is not a whole number; write digits, without point or quotes",
    ]


@pytest.mark.parametrize("content", [None, [], "text", 3])
def test_a_config_that_is_not_a_mapping_is_refused(content):
    with pytest.raises(ConfigError, match="is not a mapping"):
        load(Outer, content, "here.yaml")


@pytest.mark.parametrize(("text", "value"), [("1/4", "1/4"), (0.25, "1/4"), (2, "2"), ("0.1", "1/10"), (0.1, "1/10")])
def test_a_fraction_is_exact(text, value):
    assert load(Inner, {"size": 1, "ratio": text}, "").ratio == Fraction(value)


@pytest.mark.parametrize("text", ["1/0", True, None, "", float("inf"), [1, 4]])
def test_a_value_that_is_not_a_fraction_is_refused(text):
    with pytest.raises(ConfigError, match=r"ratio: .* is not a number or a fraction"):
        load(Inner, {"size": 1, "ratio": text}, "")


def test_null_leaves_out_an_optional_part():
    assert load(Inner, {"size": 1, "ratio": 1, "optional": None}, "").optional is None
    assert load(Inner, {"size": 1, "ratio": 1, "optional": {"shape": "circle", "radius": 2}}, "").optional.radius == 2


def test_the_fault_of_an_unknown_name_lists_all_known_names_if_none_is_similar():
    assert unknown("zzz", ["base", "big"], "model") == "unknown model zzz; known: base, big"


texts = st.text(st.characters(exclude_categories=["Cs", "Cc", "Zl", "Zp"]), max_size=8)
numbers = st.floats(allow_nan=False)
circles = st.builds(Circle, st.just("circle"), numbers)
squares = st.builds(Square, st.just("square"), numbers)


@given(
    st.builds(
        Outer,
        texts,
        st.booleans(),
        st.sampled_from(["auto", "manual"]),
        st.tuples(st.integers(), st.integers()),
        st.lists(texts, max_size=3).map(tuple),
        st.builds(Inner, st.integers(0), st.fractions(), st.none() | circles),
        st.dictionaries(texts, circles | squares, max_size=2),
        st.dictionaries(texts, st.integers() | st.lists(texts, max_size=2) | st.none(), max_size=2),
        numbers,
    )
)
def test_a_config_that_is_written_and_read_is_unchanged(tmp_path_factory, config):
    path = tmp_path_factory.getbasetemp() / "config.yaml"
    write_config(path, config)
    assert read_config(Outer, path) == config


def test_a_config_loads_from_its_plain_form():
    assert load(Outer, plain(OUTER), "") == OUTER


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"a: 1\nb: [1,\nc\n", "YAML: while parsing a flow sequence line 2, column 4"),
        (b"a: 2001-99-99\n", "month"),
        (b"a: !!bool maybe\n", "maybe"),
        (b"a: !!int ''\n", "index"),
        (b"a: !!timestamp x\n", "groupdict"),
        (b"a: " + b"[" * 3000, "recursion"),
        (b"a: &a {b: *a}\n", "Circular reference"),
    ],
)
def test_a_fault_of_yaml_is_reported_with_its_place(tmp_path, content, said):
    path = tmp_path / "config.yaml"
    path.write_bytes(content)
    with pytest.raises(InputError, match=said) as error:
        read_yaml(path)
    assert str(error.value).startswith(f"{path}: not YAML")
    assert "\n" not in str(error.value)


def test_a_byte_that_is_not_utf_8_is_reported_with_its_line(tmp_path):
    (tmp_path / "x.yaml").write_bytes(b"a: 1\nb: \xff\n")
    with pytest.raises(InputError, match=r"x\.yaml, line 2: byte 0xff is not UTF-8; convert the file"):
        read_yaml(tmp_path / "x.yaml")


@pytest.mark.parametrize("content", ["", "# a: 1\n", "- a\n", "a\n", "3\n"])
def test_a_file_without_keys_is_reported_in_one_line(tmp_path, content):
    (tmp_path / "x.yaml").write_text(content)
    with pytest.raises(InputError) as error:
        read_config(Inner, tmp_path / "x.yaml")
    assert str(error.value) == f"{tmp_path}/x.yaml: has no keys; write lines such as `key: value`"


def test_the_message_of_one_fault_is_one_line():
    with pytest.raises(ConfigError) as error:
        load(Outer, VALUES | {"flag": 1}, "here.yaml")
    assert str(error.value) == "here.yaml: flag: 1 is not true or false"


@pytest.mark.parametrize(
    ("key", "value", "said"),
    [
        ("words", "x", "words: 'x' is not a list; write [x]"),
        ("words", {"x": 1}, "words: {'x': 1} is not a list; write [a, b]"),
        ("number", None, "number: None is not a number; write one such as 0.1"),
    ],
)
def test_the_fault_of_a_wrong_type_says_what_to_write(key, value, said):
    assert faults(**{key: value}) == [said]


def test_a_key_that_comes_twice_is_named_with_its_line(tmp_path):
    (tmp_path / "x.yaml").write_text("a: &a {x: 1}\nb: {<<: *a, x: 2}\nc: 1\na: 3\n")
    with pytest.raises(InputError, match=r"x\.yaml: not YAML: a comes twice.*line 4"):
        read_yaml(tmp_path / "x.yaml")
    (tmp_path / "x.yaml").write_text("a: &a {x: 1}\nb: {<<: *a, x: 2}\nc: {a: 1}\n")
    assert read_yaml(tmp_path / "x.yaml") == {"a": {"x": 1}, "b": {"x": 2}, "c": {"a": 1}}


def test_a_field_that_was_added_later_is_written_only_if_it_differs_from_its_default():
    @dataclass(frozen=True)
    class Later:
        size: int
        old: int | None = None
        new: int | None = added(None)

    assert plain(Later(1)) == {"size": 1, "old": None}
    assert plain(Later(1, new=2)) == {"size": 1, "old": None, "new": 2}
    assert [load(Later, plain(each), "") for each in (Later(1), Later(1, 2, 3))] == [Later(1), Later(1, 2, 3)]

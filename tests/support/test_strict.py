import dataclasses
import json
import math
from fractions import Fraction
from pathlib import Path
from typing import Annotated, Any, Literal

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st
from pydantic import Field, ValidationError
from pydantic.dataclasses import dataclass

from transformer.support.faults import ConfigError, source_of, unknown
from transformer.support.fields import (
    STRICT,
    Alpha,
    Config,
    Factor,
    Positive,
    PositiveNumber,
    Range,
    Some,
    SomeDistinct,
    check,
    some_keys_of,
)
from transformer.support.files import InputError
from transformer.support.strict import (
    added,
    added_up,
    as_yaml,
    load,
    load_sources,
    merged,
    parse_yaml,
    plain,
    read_config,
    read_yaml,
    write_config,
)


@dataclass(frozen=True, config=STRICT)
class Circle(Config):
    origin: Literal["circle"]
    radius: PositiveNumber


@dataclass(frozen=True, config=STRICT)
class Square(Config):
    origin: Literal["square"]
    side: float
    least: float = 0.0

    @check
    def _large(self):
        if self.side < self.least:
            yield ["least", "side"], f"{self.side} is less than {self.least}"


@dataclass(frozen=True, config=STRICT)
class Inner(Config):
    size: Positive
    ratio: Factor
    optional: Circle | None = None


Shape = Annotated[Circle | Square, Field(discriminator="origin")]


@dataclass(frozen=True, config=STRICT)
class Outer(Config):
    name: str
    flag: bool
    kind: Literal["auto", "manual"]
    span: Range
    words: Some[str]
    inner: Inner
    shapes: dict[str, Shape]
    rows: dict[str, Annotated[dict[str, Any], some_keys_of(Circle, Inner)]]
    number: Alpha = 1.0
    new: int | None = added(None, "added later")


VALUES = {
    "name": "a",
    "flag": True,
    "kind": "auto",
    "span": [1, 2],
    "words": ["x", "y"],
    "inner": {"size": 3, "ratio": "1/4", "optional": None},
    "shapes": {"one": {"origin": "circle", "radius": 1.0}, "two": {"origin": "square", "side": 2.5, "least": 0.0}},
    "rows": {"some": {"size": 1, "optional": {"origin": "circle", "radius": 2}}, "none": {}},
    "number": 0.5,
}
SHAPES = {"one": Circle("circle", 1.0), "two": Square("square", 2.5)}


def test_a_mapping_becomes_a_config_and_this_the_mapping_again_also_through_a_file(tmp_path):
    outer = load(Outer, VALUES)
    inner = Inner(3, Fraction(1, 4))
    assert outer == Outer("a", True, "auto", (1, 2), ("x", "y"), inner, SHAPES, VALUES["rows"], 0.5)
    assert plain(outer) == VALUES
    write_config(tmp_path / "x.yaml", outer)
    assert read_config(Outer, tmp_path / "x.yaml") == outer
    assert plain(load(Outer, VALUES | {"new": 2}))["new"] == 2  # `added`: left out at its default


def test_every_fault_is_in_one_message_with_its_key_its_value_and_a_similar_name():
    broken = VALUES | {
        "flag": 1,
        "kind": "automatic",
        "span": [2, 1],
        "words": [],
        "inner": {"size": "3", "ratio": "a third", "optional": {"origin": "circle", "radius": 0}},
        "shapes": {"one": {"origin": "circl"}, "two": {"radius": 1}, "three": {"origin": "square", "sid": 1}},
        "rows": {"some": {"size": 1.5, "optional": {"radus": 1}, "radios": 1, "heads": 2}},
        "nam": "a",
    }
    with pytest.raises(ConfigError) as error:
        load(Outer, {key: value for key, value in broken.items() if key != "name"}, "here.yaml")
    assert str(error.value).splitlines() == [
        "here.yaml: the config has 19 faults:",
        "  name: Field required",
        "  flag: Input should be a valid boolean (got 1)",
        "  kind: Input should be 'auto' or 'manual' (got 'automatic'); did you mean auto?",
        "  span: [2, 1] is not a range; write [least, most], from 1 upwards",
        "  words: Tuple should have at least 1 item after validation, not 0 (got [])",
        "  inner.size: Input should be a valid integer (got '3')",
        "  inner.ratio: 'a third' is not a number or a fraction such as 1/4",
        "  inner.optional.radius: Input should be greater than 0 (got 0)",
        "  shapes.one: Input tag 'circl' found using 'origin' does not match any of the expected tags: 'circle', "
        "'square' (got {'origin': 'circl'}); did you mean circle?",
        "  shapes.two.origin: Field required",
        "  shapes.three.side: Field required",
        "  shapes.three.sid: unknown key sid; did you mean side?",
        "  rows.some.size: Input should be a valid integer (got 1.5)",
        "  rows.some.optional.origin: Field required",
        "  rows.some.optional.radius: Field required",
        "  rows.some.optional.radus: unknown key radus; did you mean radius?",
        "  rows.some.radios: unknown key radios; did you mean radius?",
        "  rows.some.heads: unknown key heads; known: origin, radius, size, ratio, optional",
        "  nam: unknown key nam; did you mean name?",
    ]


def test_a_key_is_suggested_for_its_names_in_other_libraries_and_in_another_case():
    known = ["epsilon", "eps_ls", "h", "N", "P_drop"]
    for name, key in (("label_smoothing", "eps_ls"), ("Dropout", "P_drop"), ("heads", "h"), ("n", "N")):
        assert unknown(name, known, "key") == f"unknown key {name}; did you mean {key}?"


@pytest.mark.parametrize(
    ("kind", "value", "read"),
    [
        (Factor, "1/4", Fraction(1, 4)),
        (Factor, 0.1, Fraction(1, 10)),
        (Factor, "1/0", None),
        (Factor, True, None),
        (Factor, "1e-999999999", None),
        (Factor, "1_0/4", None),
        (Factor, -0.5, None),
        (PositiveNumber, "1e-9", 1e-9),  # a text for PyYAML, and so for Snakemake
        (PositiveNumber, "5", None),
        (PositiveNumber, math.nan, None),
        (PositiveNumber, "1e999", None),
        (Positive, 10**13, None),
        (SomeDistinct[int], [1, 2, 1], None),
    ],
)
def test_a_number_is_read_exactly_or_refused(kind, value, read):
    if read is None:
        with pytest.raises(ConfigError):
            load(dataclass(type("One", (), {"__annotations__": {"x": kind}}), config=STRICT), {"x": value})
    else:
        assert load(kind, value) == read


def test_fields_that_do_not_fit_together_are_told_at_the_one_that_is_set_last(tmp_path):
    (tmp_path / "x.yaml").write_text("shapes:\n  two:\n    side: 1\n")
    sources = {"first": VALUES, "second": {"shapes": {"two": {"least": 2}}}, f"{tmp_path}/x.yaml": {}}
    sources[f"{tmp_path}/x.yaml"] = read_yaml(tmp_path / "x.yaml")
    with pytest.raises(ConfigError) as error:
        load_sources(Outer, merged(sources.values()), sources)
    assert str(error.value) == f"{tmp_path}/x.yaml, line 3: shapes.two.side: 1.0 is less than 2.0"
    with pytest.raises(ValidationError, match="is less than"):
        dataclasses.replace(SHAPES["two"], least=3.0)


def test_the_source_of_a_value_is_the_last_one_that_sets_it(tmp_path):
    path = tmp_path / "x.yaml"
    path.write_text("a: &a\n- b: 1\n-\n  c: 2\nm: {a: *a,\n  <<: {n: 1}}\ne+:\n- 1\n")
    sources = {"first": {"a": [{}, {"c": 2}], "d": 1, "e": [1]}, str(path): read_yaml(path), "last": {"m": {"z": 1}}}
    places = {("a", 1, "c"): 4, ("a", 2): 1, ("m", "n"): 6, ("m", "x"): "last", ("d", "e"): "first", ("f",): "last"}
    places |= {("e", 0): "first", ("e", 1): 7}
    for keys, place in places.items():
        assert source_of(keys, sources) == (f"{path}, line {place}" if isinstance(place, int) else place), keys


def test_lists_whose_keys_end_in_plus_are_added_up_over_all_sources():
    sources = [{"a": {"b": [1, 2]}, "c+": [5]}, {"a": {"b+": [3, 1]}}, {"a": {"b+": [4, 3]}, "c": [6]}]
    assert added_up(merged(sources)) == {"a": {"b": [1, 2, 3, 4]}, "c": [6, 5]}
    assert added_up(merged([*sources, {"a": {"b": [9]}}])) == {"a": {"b": [9, 3, 1, 4]}, "c": [6, 5]}
    assert added_up({"row+": {"size": 1}}) == {"row+": {"size": 1}}  # a name that ends in + is no list
    for values in ({"a": {"b+": 1}}, {"a": {"b": None, "b+": [1]}}):
        with pytest.raises(ConfigError, match=r"^a\.b\+: .* cannot be added to b; both must be lists$"):
            added_up(values)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        *(
            (f"a: 1\nb: [2, {word}]", f"line 2: readers of YAML disagree about {word}; write '{word}' in q")
            for word in ("0100", "0x10", "1_0", "1:40", "1:40.5", "no", "On", "yes", "2001-12-14", "=", "<<")
        ),
        ("no: 1", "line 1: the key no is not read as a text; write 'no' in quotes"),
        ("a: {null: 1}", "line 1: the key null is not"),
        ("a: &a {x: 1}\nb: {<<: *a, x: 2}\nc: 1\na: 3", "line 4: not YAML: a comes twice"),
        ("a: 1\nb: [1,\nc", "line 4: not YAML"),
        ("a:\n\tb: 1", "line 2: not YAML: found character"),
        ("a: &a {b: *a}", "line 1: not YAML"),
        ("a: !!int ''", "not YAML"),
        ("a: {{name}}", "line 1: not YAML: found unhashable key"),
        ("a: " + "[" * 3000, "not YAML"),
        ("a: \x07", "not YAML: unacceptable character"),
    ],
)
def test_what_is_no_yaml_or_is_read_in_two_ways_is_refused_in_one_line(text, said):
    with pytest.raises(InputError) as error:
        parse_yaml(f"{text}\n", "x.yaml")
    assert str(error.value).startswith("x.yaml")
    assert said in str(error.value)
    assert "\n" not in str(error.value)


WORDS = st.one_of(
    st.from_regex(r"\A[-+]?[0-9oxbea-f_.:]{1,6}\Z"),
    st.from_regex(r"\A20[0-9][0-9]-[01]?[0-9]-[0-3]?[0-9]\Z"),
    st.sampled_from(["yes", "No", "ON", "off", "y", "true", "null", "~", ".inf", ".nan", "=", "<<"]),
    st.text("0123456789.eE+-_:", max_size=8),
)


@given(WORDS)
def test_a_text_is_unchanged_when_it_is_written_and_read_and_what_is_read_is_what_snakemake_reads(word):
    assert parse_yaml(as_yaml({word: [word]}), "x.yaml") == {word: [word]}
    try:
        value = parse_yaml(f"[{word}]", "x.yaml")
    except InputError:
        return
    assert json.dumps(value) == json.dumps(yaml.load(f"[{word}]", yaml.FullLoader))


@pytest.mark.parametrize(
    ("content", "said"),
    [(each, ": has no keys; write lines such as `key: value`") for each in (b"", b"- a\n", b"3\n")]
    + [(b"name: 1\nb: \xff\n", ", line 2: byte 0xff is not UTF-8; convert the file")],
)
def test_a_file_without_keys_or_with_another_encoding_is_refused(tmp_path, content, said):
    path = Path(tmp_path / "x.yaml")
    path.write_bytes(content)
    with pytest.raises(InputError) as error:
        read_config(Inner, path)
    assert str(error.value).startswith(f"{path}{said}")

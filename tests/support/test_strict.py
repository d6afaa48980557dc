from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st
from shapes import VALUES, Circle, Inner, Outer, Square

from transformer.support.faults import ConfigError
from transformer.support.files import InputError
from transformer.support.strict import added_up, load, load_sources, merged, plain, read_config, read_yaml, write_config

SHAPES = {"one": Circle("circle", 1.0), "two": Square("square", 2.5)}
OUTER = Outer("a", True, "auto", (1, 2), ("x", "y"), Inner(3, Fraction(1, 4)), SHAPES, VALUES["rows"])


def test_a_mapping_becomes_nested_dataclasses_and_these_become_the_mapping_again():
    assert load(Outer, VALUES) == OUTER
    inner, defaults = VALUES["inner"] | {"optional": None}, {"free": {}, "number": 1.0}
    assert plain(OUTER) == VALUES | {"inner": inner} | defaults
    assert load(Outer, plain(OUTER)) == OUTER


def test_null_leaves_out_an_optional_part():
    assert load(Inner, {"size": 1, "ratio": 1, "optional": None}).optional is None
    assert load(Inner, {"size": 1, "ratio": 1, "optional": {"origin": "circle", "radius": 2}}).optional.radius == 2


texts = st.text(st.characters(exclude_categories=["Cs", "Cc", "Zl", "Zp"]), max_size=8)
names = texts.filter(lambda name: not name.endswith("+"))  # a list NAME+ is added to the list NAME
numbers = st.floats(allow_nan=False, allow_infinity=False)
circles = st.builds(Circle, origin=st.just("circle"), radius=numbers)
squares = st.builds(Square, origin=st.just("square"), side=numbers)


@given(
    st.builds(
        Outer,
        name=texts,
        flag=st.booleans(),
        kind=st.sampled_from(["auto", "manual"]),
        span=st.tuples(st.integers(), st.integers()),
        words=st.lists(texts, min_size=1, max_size=3).map(tuple),
        inner=st.builds(Inner, size=st.integers(), ratio=st.fractions(0).filter(bool), optional=st.none() | circles),
        shapes=st.dictionaries(texts, circles | squares, max_size=2),
        rows=st.just({"some": {"size": 1}}),
        free=st.dictionaries(names, st.integers() | st.lists(texts, max_size=2) | st.none(), max_size=2),
        number=numbers,
        new=st.none() | st.integers(),
    )
)
def test_a_config_that_is_written_and_read_is_unchanged(tmp_path_factory, config):
    path = tmp_path_factory.getbasetemp() / "config.yaml"
    write_config(path, config)
    assert read_config(Outer, path) == config


def test_a_field_that_was_added_later_is_written_only_if_it_differs_from_its_default():
    assert "new" not in plain(OUTER)
    assert plain(load(Outer, VALUES | {"new": 2}))["new"] == 2


def test_lists_whose_keys_end_in_plus_are_added_up_over_all_sources():
    sources = [{"a": {"b": [1, 2]}, "c+": [5]}, {"a": {"b+": [3, 1]}}, {"a": {"b+": [4, 3]}, "c": [6]}]
    assert added_up(merged(sources)) == {"a": {"b": [1, 2, 3, 4]}, "c": [6, 5]}
    assert added_up(merged([*sources, {"a": {"b": [9]}}])) == {"a": {"b": [9, 3, 1, 4]}, "c": [6, 5]}
    assert added_up({"row+": {"size": 1}}) == {"row+": {"size": 1}}  # a name that ends in + is no list


def test_a_list_whose_key_ends_in_plus_needs_a_list_to_be_added_to():
    with pytest.raises(ConfigError) as error:
        added_up({"a": {"b+": 1, "c": 2, "c+": [3]}, "d": None, "d+": [1]})
    assert str(error.value).splitlines()[1:] == [
        "  a.b+: 1 is not a list; write [1]",
        "  a.c+: c has no list to which this could be added; write c without +",
        "  d+: d has no list to which this could be added; write d without +",
    ]


def test_a_fault_of_an_added_value_names_the_file_that_adds_it(tmp_path):
    files = [tmp_path / name for name in ("first.yaml", "second.yaml")]
    files[0].write_text("words:\n- a\n- b\n")
    files[1].write_text("words+:\n- a\n- c\n- 5\n")
    sources = {str(file): read_yaml(file) for file in files}
    with pytest.raises(ConfigError) as error:
        load_sources(Outer, VALUES | merged(sources.values()), sources)
    assert str(error.value) == f"{files[1]}, line 4: words+[2]: 5 is not a text; write it in quotes"


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"a: 1\nb: [1,\nc\n", "YAML: while parsing a flow sequence line 2, column 4"),
        (b"a: 1\nb: !!bool maybe\n", "'maybe' is no .*bool line 2"),
        (b"a: !!int ''\n", "'' is no .*int line 1, column 4"),
        (b"a: " + b"[" * 3000, "recursion"),
        (b"a: &a {b: *a}\n", "recursive node line 1, column 4"),
        (b"a: 1\nb: !!set {b}\n", "set' line 2"),
        (b"a: !!binary YQ==\n", "binary' line 1"),
        (b"a:\n\tb: 1\n", "line 2, column 1.*; write blanks instead of tabs"),
        (
            b"a0: &a0 [x]\n" + b"".join(b"a%d: &a%d [%s]\n" % (i, i, b"*a%d," % (i - 1) * 9) for i in range(1, 30)),
            "repeat",
        ),
    ],
)
def test_a_fault_of_yaml_is_reported_with_its_place(tmp_path, content, said):
    path = tmp_path / "config.yaml"
    path.write_bytes(content)
    with pytest.raises(InputError, match=said) as error:
        read_yaml(path)
    assert str(error.value).startswith(f"{path}: not YAML")
    assert "\n" not in str(error.value)


def test_a_character_that_yaml_does_not_have_is_reported_with_its_line(tmp_path):
    (tmp_path / "config.yaml").write_text(f"a: {'é' * 9000}\nb: 1\nc: \x07\n")
    with pytest.raises(InputError, match=r"config\.yaml, line 3: U\+0007 is no character of YAML; remove it$"):
        read_yaml(tmp_path / "config.yaml")


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


def test_a_key_that_comes_twice_is_named_with_its_line(tmp_path):
    (tmp_path / "x.yaml").write_text("a: &a {x: 1}\nb: {<<: *a, x: 2}\nc: 1\na: 3\n")
    with pytest.raises(InputError, match=r"x\.yaml: not YAML: a comes twice.*line 4"):
        read_yaml(tmp_path / "x.yaml")
    (tmp_path / "x.yaml").write_text("a: &a {x: 1}\nb: {<<: *a, x: 2}\nc: {a: 1}\n")
    assert read_yaml(tmp_path / "x.yaml") == {"a": {"x": 1}, "b": {"x": 2}, "c": {"a": 1}}

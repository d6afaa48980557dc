import pytest
from shapes import VALUES, Inner, Outer

from transformer.support.faults import ConfigError, Fault, source_of, unknown
from transformer.support.strict import load, read_config, read_yaml


def faults(**changes):
    with pytest.raises(ConfigError) as error:
        load(Outer, VALUES | changes, "here.yaml")
    return list(map(str, error.value.faults))


def test_every_fault_is_in_one_message():
    broken = {
        "flag": "yes",
        "kind": "automatic",
        "span": [1, 2, 3],
        "words": ["x", 1],
        "inner": {"size": True, "ratio": "a third", "optional": {"origin": "circle", "radius": "1e-9"}},
        "shapes": {
            "one": {"origin": "circl"},
            "two": 4,
            "three": {"origin": ["circle"]},
            "four": {"origin": "square", "square": []},
        },
        "rows": {"some": {"size": 1.5, "radios": 1, "optional": {"radus": 1}}},
        "free": [],
    }
    with pytest.raises(ConfigError) as error:
        load(Outer, {key: value for key, value in VALUES.items() if key != "name"} | broken | {"nam": "a"}, "here.yaml")
    assert str(error.value).splitlines() == [
        "here.yaml: the config has 20 faults:",
        "  name: missing",
        "  flag: 'yes' is not true or false",
        "  kind: 'automatic' is not one of auto, manual; did you mean auto?",
        "  span: [1, 2, 3] is not a list of 2",
        "  words[1]: 1 is not a text; write it in quotes",
        "  inner.size: true is not a whole number; write digits, without point or quotes",
        "  inner.ratio: 'a third' is not a number or a fraction such as 1/4",
        "  inner.optional.radius: '1e-9' is not a number; write one such as 0.1",
        "  shapes.one.origin: 'circl' is not one of circle, square; did you mean circle?",
        "  shapes.two: 4 is not a mapping; write keys with values, as {key: value}",
        "  shapes.three.origin: ['circle'] is not one of circle, square; did you mean circle?",
        "  shapes.four.side: missing",
        "  shapes.four.square: unknown key square; known: origin, side",
        "  rows.some.size: 1.5 is not a whole number; write digits, without point or quotes",
        "  rows.some.optional.origin: missing",
        "  rows.some.optional.radius: missing",
        "  rows.some.optional.radus: unknown key radus; did you mean radius?",
        "  rows.some.radios: unknown key radios; did you mean radius?",
        "  free: [] is not a mapping; write keys with values, as {key: value}",
        "  nam: unknown key nam; did you mean name?",
    ]


@pytest.mark.parametrize(
    ("key", "value", "said"),
    [
        ("flag", 1, "flag: 1 is not true or false"),
        ("words", "x", "words: 'x' is not a list; write [x]"),
        ("words", {"x": 1}, "words: {'x': 1} is not a list; write [a, b]"),
        ("words", {"x": "a", "y": "b c"}, "words: {'x': 'a', 'y': 'b c'} is not a list; write [{x: a, y: b c}]"),
        ("words", "x, y", "words: 'x, y' is not a list; write ['x, y']"),
        ("words", "1,2, 3", "words: '1,2, 3' is not a list; write [1, 2, 3]"),
        ("number", "0,05", "number: '0,05' is not a number, because it has a comma; write 0.05"),
        (
            "inner",
            {"size": "8,000", "ratio": 1},
            "inner.size: '8,000' is not a number, because it has a comma; write 8000",
        ),
        ("words", [], "words: is empty; give at least one"),
        ("words", [1], "words[0]: 1 is not a text; write it in quotes"),
        ("span", [1], "span: [1] has too few values"),
        ("span", [], "span: [] has too few values"),
        ("number", None, "number: null is not a number; write one such as 0.1"),
        ("number", 10**400, f"number: {10**400} is not a finite number"),
        ("shapes", {"one": {"radius": 1}}, "shapes.one.origin: missing"),
        (
            "shapes",
            {"one": {"origin": "circle", "radius": 1, "r": 1}},
            "shapes.one.r: unknown key r; known: origin, radius",
        ),
        (
            "shapes",
            {"one": {"origin": "circle", "radius": 1, "has_corner": 1}},
            "shapes.one.has_corner: unknown key has_corner; known: origin, radius",
        ),
        ("inner", {"size": 1, "ratio": 0}, "inner.ratio: 0 is not above 0"),
    ],
)
def test_a_fault_says_what_to_write(key, value, said):
    assert faults(**{key: value}) == [said]


@pytest.mark.parametrize("content", [None, [], "text", 3])
def test_a_config_that_is_not_a_mapping_is_refused(content):
    with pytest.raises(
        ConfigError, match=r"^here\.yaml: .* is not a mapping; write keys with values, as \{key: value\}$"
    ):
        load(Outer, content, "here.yaml")


def test_the_fault_of_an_unknown_name_lists_all_known_names_if_none_is_similar():
    assert unknown("zzz", ["base", "big"], "model") == "unknown model zzz; known: base, big"
    assert unknown("NL", ["nl", "en"], "language") == "unknown language NL; did you mean nl?"


def test_a_key_by_its_name_elsewhere_is_the_key_that_means_the_same():
    known = ["epsilon", "eps_ls", "h", "N", "P_drop"]
    for name, key in (("epsilon_ls", "eps_ls"), ("label_smoothing", "eps_ls"), ("Dropout", "P_drop"), ("heads", "h")):
        assert unknown(name, known, "key") == f"unknown key {name}; did you mean {key}?"
    assert "did you mean" not in unknown("heads", ["width"], "key")


def test_a_fault_names_the_line_of_its_key_or_of_the_mapping_that_lacks_it(tmp_path):
    path = tmp_path / "x.yaml"
    path.write_text("a: &a {size: 1,\n  ratio: 0}\n\n<<: *a\nsize: -1\nsiez: 1\noptional:\n  origin: circle\n")
    with pytest.raises(ConfigError) as error:
        read_config(Inner, path)
    assert [fault.source.removeprefix(f"{path}, line ") for fault in error.value.faults] == ["2", "7", "1", "6"]


def test_the_source_of_a_value_is_the_last_one_that_has_most_of_its_keys(tmp_path):
    path = tmp_path / "x.yaml"
    path.write_text("a:\n- b: 1\n-\n  c: 2\n")
    sources = {"first": {"a": [{}, {"c": 2}], "d": 1}, str(path): read_yaml(path), "last": {"a": 1, "3": {}}}
    places = [("a", 1, "c"), ("a", 1, "x"), ("a",), ("d", "e"), ("f",), ()]
    named = [source_of(keys, sources) for keys in places]
    assert named == [f"{path}, line 4", f"{path}, line 4", "last", "first", "last", "last"]


def test_a_fault_is_shown_with_its_source_and_its_keys():
    assert str(Fault(("models", "A-h1", "words", 0), "is wrong", "x.yaml")) == "x.yaml: models.A-h1.words[0]: is wrong"
    assert str(Fault((), "is wrong")) == "is wrong"

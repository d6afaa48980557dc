import re

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from transformer.support.files import InputError
from transformer.support.strict import as_yaml, parse_yaml


@pytest.mark.parametrize(
    ("word", "remedy"),
    [
        ("0100", "write 100 for the number, or '0100'"),
        ("+010", "write 10 for the number"),
        ("0190", "write 190 for the number"),
        ("0o17", "write 15 for the number"),
        ("0x10", "write 16 for the number"),
        ("-0x10", "write -16 for the number"),
        ("0b11", "write 3 for the number"),
        ("1_0", "write 10 for the number"),
        ("1_000.5", "write 1000.5 for the number"),
        (
            "1:40",
            "1:40 is 100 (to the base 60) in YAML 1.1; write 1/40 for the fraction, 100 for the number, or '1:40'",
        ),
        ("-1:4", "write -1/4 for the fraction, -64 for the number"),
        ("1:40.5", "write 1/40.5 for the fraction, 100.5 for the number"),
        ("12:30:45", "write 45045 for the number"),
        ("!!int '0100'", "write 100 for the number"),
        ("no", "no is false in YAML 1.1; write 'no' for the word, or false"),
        ("NO", "write 'NO' for the word, or false"),
        ("On", "write 'On' for the word, or true"),
        ("yes", "write 'yes' for the word, or true"),
        ("off", "write 'off' for the word, or false"),
        ("2001-99-99", "is read as a date; write '2001-99-99' in quotes"),
        ("2001-12-14t21:59:43.1", "is read as a date; write '2001-12-14t21:59:43.1' in quotes"),
        (r'"a\0"', "a text has U+0000, which is no character of a text; remove it"),
        (r'"\ud800"', "a text has U+D800"),
        ("1.0e+400", "1.0e+400 is too large for a number; write a smaller one"),
        ("=", "write '=' in quotes"),
        ("<<", "write '<<' in quotes"),
    ],
)
def test_a_word_that_is_read_in_two_ways_is_refused_with_its_line_and_a_remedy(word, remedy):
    with pytest.raises(InputError) as error:
        parse_yaml(f"a: 1\nb: [2, {word}]\n", "x.yaml")
    assert str(error.value).startswith("x.yaml, line 2: ")
    assert remedy in str(error.value)


@pytest.mark.parametrize("key", ["no", "ON", "y", "null", "~", "true", "1.50", "0100", "2001-09-09"])
def test_a_key_that_is_not_read_as_it_is_written_is_refused(key):
    if key == "y":
        assert parse_yaml("y: n", "x.yaml") == {"y": "n"}
        return
    with pytest.raises(InputError, match=rf"x\.yaml, line 1: the key {key} is read as .*; write '{key}' in quotes"):
        parse_yaml(f"{{{key}: 1}}", "x.yaml")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("{a: 8,000}", "a is 8,000, but a comma separates keys; write 8000 for the number"),
        ("{a: 8,192,b: 1}", "a is 8,192, but a comma separates keys; write 8192"),
        ("{ü: 1,000,000, b: 1}", "ü is 1,000,000, but a comma separates keys; write 1000000"),
        ("{b: {a: 0,05 }, c: 0}", "a is 0,05, but a comma separates keys; write 0.05"),
        ("{a: -1,5,\n b: 1}", "a is -1,5, but a comma separates keys; write -1.5"),
        ("{a: 1,234,5}", "a is 1,234, but a comma separates keys; write 1234"),
    ],
)
def test_a_number_with_a_comma_is_refused_with_the_number_that_is_meant(text, said):
    with pytest.raises(InputError, match="^x.yaml, line 2: " + re.escape(said)):
        parse_yaml(f"- 1\n- {text}\n", "x.yaml")


def test_a_comma_between_keys_with_values_or_in_a_list_is_no_part_of_a_number():
    assert parse_yaml("{a: 1,2: x, b: [1,2,300]}", "x.yaml") == {"a": 1, 2: "x", "b": [1, 2, 300]}


def test_all_doubts_of_a_file_are_named_together():
    with pytest.raises(InputError) as error:
        parse_yaml("a: no\nb: {on: 0100}\n", "x.yaml")
    assert [line.split(":")[0].strip() for line in str(error.value).splitlines()[1:]] == [
        "x.yaml, line 1",
        "x.yaml, line 2",
        "x.yaml, line 2",
    ]


WORDS = st.one_of(
    st.from_regex(r"\A[-+]?[0-9oxbea-f_.:]{1,6}\Z"),
    st.from_regex(r"\A20[0-9][0-9]-[01]?[0-9]-[0-3]?[0-9]\Z"),
    st.sampled_from(["yes", "No", "ON", "off", "y", "true", "null", "~", ".inf", ".nan", "=", "<<"]),
    st.text("0123456789.eE+-_:", max_size=8),
)


@given(WORDS)
def test_a_text_is_the_same_after_it_is_written_and_read(text):
    assert parse_yaml(as_yaml({text: [text]}), "x.yaml") == {text: [text]}


@given(WORDS)
def test_what_is_read_without_doubt_is_what_snakemake_reads(word):
    try:
        value = parse_yaml(f"[{word}]", "x.yaml")
    except InputError:
        return
    assert repr(list(map(str, value))) == repr(list(map(str, yaml.load(f"[{word}]", yaml.FullLoader))))


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("+5", 5),
        ("-0", 0),
        (".5", 0.5),
        ("5.", 5.0),
        ("1.5e+3", 1500.0),
        ("True", True),
        ("~", None),
        ("'0100'", "0100"),
    ],
)
def test_numbers_that_all_read_alike_are_read(text, value):
    assert parse_yaml(text, "x.yaml") == value

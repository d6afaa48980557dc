import dataclasses
import math
from fractions import Fraction

import pytest
from pydantic import ValidationError
from pydantic.dataclasses import dataclass

from transformer.support.faults import ConfigError
from transformer.support.fields import (
    STRICT,
    Alpha,
    Config,
    Distinct,
    Factor,
    Positive,
    PositiveNumber,
    Range,
    Seed,
    check,
)
from transformer.support.strict import load


@dataclass(frozen=True, config=STRICT)
class Part(Config):
    size: Positive


@dataclass(frozen=True, config=STRICT)
class Whole(Config):
    parts: dict[str, Part]
    name: str
    total: int
    most: int = 9

    @check("parts", "total")
    def _adds_up(self):
        if (total := sum(part.size for part in self.parts.values())) != self.total:
            yield "total", f"{self.total} is not {total}"

    @check("parts", "most")
    def _not_too_large(self):
        for name, part in self.parts.items():
            if part.size > self.most:
                yield ("parts", name, "size"), f"{part.size} is more than {self.most}"


def faults(**values):
    with pytest.raises(ConfigError) as error:
        load(Whole, {"parts": {"a": {"size": 1}, "b": {"size": 11}}, "name": "x", "total": 12} | values)
    return list(map(str, error.value.faults))


def test_fields_are_checked_together_when_each_of_them_is_possible_by_itself():
    assert faults() == ["parts.b.size: 11 is more than 9"]
    assert faults(total=2, name=3) == [
        "name: 3 is not a text; write it in quotes",
        "total: 2 is not 12",
        "parts.b.size: 11 is more than 9",
    ]
    assert faults(parts={"a": {"size": -1}}, total=2) == ["parts.a.size: -1 is not at least 1"]
    assert faults(total="2") == [
        "total: '2' is not a whole number; write digits, without point or quotes",
        "parts.b.size: 11 is more than 9",
    ]


def test_a_changed_config_is_checked_again():
    whole = Whole({"a": Part(1)}, "x", 1)
    assert dataclasses.replace(whole, name="y").name == "y"
    with pytest.raises(ValidationError, match="2 is not 1"):
        dataclasses.replace(whole, total=2)


@pytest.mark.parametrize(
    ("text", "value"), [("1e-9", 1e-9), ("1.5E3", 1500.0), ("+.5", 0.5), ("2e+1", 20.0), ("5.e1", 50.0)]
)
def test_a_number_that_only_yaml_1_2_reads_as_one_is_a_number(text, value):
    assert load(PositiveNumber, text) == value


def test_zero_has_no_sign():
    assert str(load(Alpha, -0.0)) == "0.0"


@pytest.mark.parametrize(("text", "value"), [("1/4", "1/4"), (0.25, "1/4"), (2, "2"), ("0.1", "1/10"), (0.1, "1/10")])
def test_a_fraction_is_exact(text, value):
    assert load(Factor, text) == Fraction(value)


@pytest.mark.parametrize(
    ("kind", "value", "said"),
    [
        *(
            (Factor, value, " is not a number or a fraction such as 1/4")
            for value in ("1/0", True, None, "", math.inf, [1], "1e-999999999", "1E9999")
        ),
        (Factor, -0.5, "-0.5 is not above 0"),
        (PositiveNumber, "5", "'5' is not a number; write one such as 0.1"),
        (PositiveNumber, "1e999", "'1e999' is not a number; write one such as 0.1"),
        (PositiveNumber, math.inf, "inf is not a finite number"),
        (PositiveNumber, math.nan, "nan is not a finite number"),
        (Seed, -1, "-1 is not at least 0"),
        (Seed, 2**63, f"{2**63} is not at most {2**63 - 1}"),
        (Range, [3, 2], r"[3, 2] is not a range; write [least, most], from 1 upwards"),
        (Range, [0, 2], r"[0, 2] is not a range; write [least, most], from 1 upwards"),
        (Distinct[int], [1, 2, 1], "1 comes twice; name it once"),
    ],
)
def test_a_value_outside_of_its_range_is_refused(kind, value, said):
    one = dataclass(type("One", (), {"__annotations__": {"x": kind}}), config=STRICT)
    with pytest.raises(ConfigError) as error:
        load(one, {"x": value})
    assert str(error.value).endswith(said)
